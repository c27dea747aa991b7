// SPDX-License-Identifier: Apache-2.0
// The only file that includes the JSON library. Its SAX parser keeps its state in a vector of bits,
// so depth costs no stack; the depth is bounded here before a level is opened.
#include "policy/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "policy/utf8.h"

namespace bailiff::policy {
namespace {

using nlohmann::json;

class Builder final : public nlohmann::json_sax<json> {
 public:
  Builder(std::string_view bytes, Faults& faults) : bytes_(bytes), faults_(faults) {}

  std::optional<Value> Take() && { return std::move(root_); }

  bool null() override { return Put(Value()); }
  bool boolean(bool value) override { return Put(Value(value)); }

  bool number_integer(std::int64_t value) override {
    // The lexer gives every number with a minus sign here, so zero can only have been "-0".
    if (value == 0) Complain(ErrorCode::kJsonNumber, "-0", "is not an integer of its own");
    if (value < -kMaxInteger) Range(std::to_string(value));
    return Put(Value(value));
  }

  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(kMaxInteger)) Range(std::to_string(value));
    return Put(Value(value));
  }

  bool number_float(double, const std::string& text) override {
    // Integers that no 64-bit type holds arrive here too.
    if (text.find_first_not_of("-0123456789") == std::string::npos) {
      Range(text.substr(0, 40));
    } else {
      Complain(ErrorCode::kJsonNumber, text.substr(0, 40), "has a fraction or an exponent");
    }
    return Put(Value(0));
  }

  bool string(std::string& value) override {
    Nul(value);
    return Put(Value(std::move(value)));
  }

  bool binary(json::binary_t&) override { return false; }  // never in text

  bool start_object(std::size_t) override { return Open(Value::MakeObject()); }
  bool start_array(std::size_t) override { return Open(Value::MakeArray()); }

  bool key(std::string& name) override {
    open_.back().key = std::move(name);
    Nul(open_.back().key);
    return true;
  }

  bool end_object() override {
    Value value = std::move(open_.back().value);
    FindDuplicates(*value.object());
    open_.pop_back();
    return Put(std::move(value));
  }

  bool end_array() override {
    Value value = std::move(open_.back().value);
    open_.pop_back();
    return Put(std::move(value));
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const std::string_view text = error.what();
    if (error.id == 406) {  // number overflow
      Range("a number");
    } else if (text.find("surrogate") != std::string_view::npos) {
      Complain(ErrorCode::kJsonSurrogate, Place(position), "half of a surrogate pair stands alone");
    } else {
      Complain(ErrorCode::kJsonSyntax, Place(position), "not well-formed JSON");
    }
    return false;
  }

 private:
  struct Level {
    Value value;
    std::string key;  // name of the member being read
  };

  std::string Pointer() const {
    std::string pointer;
    for (const Level& level : open_) {
      if (const Value::Array* items = level.value.array(); items != nullptr) {
        pointer = Child(pointer, items->size());
      } else {
        pointer = Child(pointer, level.key);
      }
    }
    return pointer;
  }

  std::string Place(std::size_t position) const {
    const std::string_view before = bytes_.substr(0, position == 0 ? 0 : position - 1);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t last = before.rfind('\n');
    const std::size_t column = before.size() - (last == std::string_view::npos ? 0 : last + 1) + 1;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
  }

  void Complain(ErrorCode code, std::string subject, std::string why) {
    faults_.Add(Pointer(), code, std::move(subject), std::move(why));
  }

  void Range(std::string text) {
    Complain(ErrorCode::kJsonRange, std::move(text), "outside of +-9007199254740991");
  }

  void Nul(const std::string& text) {
    if (text.find('\0') != std::string::npos) {
      Complain(ErrorCode::kJsonNul, "text", "holds U+0000");
    }
  }

  // Sorting views keeps this linear-logarithmic for an object of any size.
  void FindDuplicates(const Value::Object& members) {
    std::vector<std::string_view> names;
    names.reserve(members.size());
    for (const Value::Member& member : members) names.push_back(member.name);
    std::sort(names.begin(), names.end());
    for (std::size_t i = 1; i < names.size(); ++i) {
      if (names[i] != names[i - 1] || (i > 1 && names[i] == names[i - 2])) continue;
      open_.back().key = std::string(names[i]);
      Complain(ErrorCode::kJsonDuplicate, std::string(names[i]), "stands here more than once");
    }
  }

  bool Open(Value container) {
    if (open_.size() >= kMaxDepth) {
      Complain(ErrorCode::kJsonDepth, "nesting", "deeper than 32 levels");
      return false;
    }
    open_.push_back(Level{std::move(container), {}});
    return true;
  }

  bool Put(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Value::Array* items = open_.back().value.array(); items != nullptr) {
      items->push_back(std::move(value));
    } else {
      open_.back().value.object()->push_back(
          Value::Member{std::move(open_.back().key), std::move(value)});
    }
    return true;
  }

  std::string_view bytes_;
  Faults& faults_;
  std::vector<Level> open_;
  std::optional<Value> root_;
};

}  // namespace

std::optional<Value> ParseJson(std::string_view bytes, Faults& faults) {
  const std::size_t before = faults.size();
  std::optional<Value> value = ParseJsonWithFaults(bytes, faults);
  if (faults.size() != before || faults.cut()) return std::nullopt;
  return value;
}

std::optional<Value> ParseJsonWithFaults(std::string_view bytes, Faults& faults) {
  if (bytes.size() > kMaxDocument) {
    faults.Add("", ErrorCode::kJsonSize, std::to_string(bytes.size()) + " bytes",
               "larger than 1048576 bytes");
    return std::nullopt;
  }
  // The library skips a BOM and takes a NUL byte for the end of the input: both are looked for
  // first.
  if (bytes.starts_with("\xef\xbb\xbf")) {
    faults.Add("", ErrorCode::kJsonBom, "start of the file", "begins with a byte order mark");
    return std::nullopt;
  }
  if (bytes.find('\0') != std::string_view::npos) {
    faults.Add("", ErrorCode::kJsonNul, "byte " + std::to_string(bytes.find('\0')), "is NUL");
    return std::nullopt;
  }
  if (!IsUtf8(bytes)) {
    faults.Add("", ErrorCode::kJsonUtf8, "text", "not valid UTF-8");
    return std::nullopt;
  }
  std::string_view value = bytes;
  if (value.ends_with('\n')) value.remove_suffix(1);
  if (value.ends_with(' ') || value.ends_with('\t') || value.ends_with('\r') ||
      value.ends_with('\n')) {
    faults.Add("", ErrorCode::kJsonTrailing, "end of the file",
               "more than one newline after the value");
    return std::nullopt;
  }
  Builder builder(value, faults);
  // A parse that stops early has left a fault.
  if (!json::sax_parse(value.begin(), value.end(), &builder)) return std::nullopt;
  return std::move(builder).Take();
}

}  // namespace bailiff::policy
