// SPDX-License-Identifier: Apache-2.0
#include "policy/jcs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "policy/json.h"
#include "policy/utf8.h"

namespace bailiff::policy {
namespace {

// UTF-16 code units of valid UTF-8. Byte order and this order differ only between U+E000..U+FFFF
// and what needs a surrogate pair.
std::u16string Units(std::string_view utf8) {
  std::u16string units;
  units.reserve(utf8.size());
  std::size_t i = 0;
  const auto next = [&] { return static_cast<unsigned>(static_cast<unsigned char>(utf8[i++])); };
  while (i < utf8.size()) {
    const unsigned lead = next();
    unsigned point = lead;
    if (lead >= 0xF0) {
      point = (lead & 0x07) << 18;
      point |= (next() & 0x3F) << 12;
      point |= (next() & 0x3F) << 6;
      point |= next() & 0x3F;
    } else if (lead >= 0xE0) {
      point = (lead & 0x0F) << 12;
      point |= (next() & 0x3F) << 6;
      point |= next() & 0x3F;
    } else if (lead >= 0xC0) {
      point = (lead & 0x1F) << 6;
      point |= next() & 0x3F;
    }
    if (point >= 0x10000) {
      units += static_cast<char16_t>(0xD800 + ((point - 0x10000) >> 10));
      units += static_cast<char16_t>(0xDC00 + ((point - 0x10000) & 0x3FF));
    } else {
      units += static_cast<char16_t>(point);
    }
  }
  return units;
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool NameLess(std::string_view a, std::string_view b) {
  if (IsAscii(a) && IsAscii(b)) return a < b;
  return Units(a) < Units(b);
}

class Writer {
 public:
  // False when the value cannot be written; error() then says why.
  bool Write(const Value& value, std::size_t depth) {
    switch (value.kind()) {
      case Value::Kind::kNull:
        return Fail(ErrorCode::kJsonType, "null", "has no place in a canonical document");
      case Value::Kind::kBoolean:
        out_ += *value.boolean() ? "true" : "false";
        return true;
      case Value::Kind::kInteger:
        if (*value.integer() > kMaxInteger || *value.integer() < -kMaxInteger) {
          return Fail(ErrorCode::kJsonRange, std::to_string(*value.integer()),
                      "outside of +-9007199254740991");
        }
        out_ += std::to_string(*value.integer());
        return true;
      case Value::Kind::kString:
        return WriteText(*value.string());
      case Value::Kind::kArray:
        return WriteArray(*value.array(), depth);
      case Value::Kind::kObject:
        return WriteObject(*value.object(), depth);
    }
    return false;
  }

  std::string Take() && { return std::move(out_); }
  Error error() && { return std::move(error_); }

 private:
  bool Fail(ErrorCode code, std::string subject, std::string why) {
    error_ = Error{code, std::move(subject), std::move(why), 0, {}};
    return false;
  }

  bool WriteText(const std::string& text) {
    if (!IsText(text)) {
      return Fail(ErrorCode::kJsonText, "text", "not valid UTF-8, or holds U+0000");
    }
    AppendQuoted(out_, text);
    return true;
  }

  bool Deeper(std::size_t depth) {
    if (depth < kMaxDepth) return true;
    return Fail(ErrorCode::kJsonDepth, "nesting", "deeper than 32 levels");
  }

  bool WriteArray(const Value::Array& items, std::size_t depth) {
    if (!Deeper(depth)) return false;
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ',';
      if (!Write(items[i], depth + 1)) return false;
    }
    out_ += ']';
    return true;
  }

  bool WriteObject(const Value::Object& members, std::size_t depth) {
    if (!Deeper(depth)) return false;
    std::vector<const Value::Member*> sorted;
    sorted.reserve(members.size());
    for (const Value::Member& member : members) {
      if (!IsText(member.name)) {
        return Fail(ErrorCode::kJsonText, "member name", "not valid UTF-8, or holds U+0000");
      }
      sorted.push_back(&member);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const auto* a, const auto* b) { return NameLess(a->name, b->name); });
    out_ += '{';
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (i > 0) {
        out_ += ',';
        if (sorted[i]->name == sorted[i - 1]->name) {
          return Fail(ErrorCode::kJsonDuplicate, sorted[i]->name, "stands here more than once");
        }
      }
      AppendQuoted(out_, sorted[i]->name);
      out_ += ':';
      if (!Write(sorted[i]->value, depth + 1)) return false;
    }
    out_ += '}';
    return true;
  }

  std::string out_;
  Error error_;
};

}  // namespace

void AppendQuoted(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  std::size_t plain = 0;  // start of what needs no escape
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out += text.substr(plain, i - plain);
    plain = i + 1;
    out += '\\';
    constexpr std::string_view kNamed = "\"\\\b\t\n\f\r";
    constexpr std::string_view kLetters = "\"\\btnfr";
    const std::size_t named = kNamed.find(text[i]);
    if (named != std::string_view::npos) {
      out += kLetters[named];
    } else {
      out += "u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  out += text.substr(plain);
  out += '"';
}

Result<std::string> Canonical(const Value& value) {
  Writer writer;
  if (!writer.Write(value, 0)) return std::move(writer).error();
  return std::move(writer).Take();
}

Result<Value> ParseCanonical(std::string_view bytes) {
  Faults faults;
  std::optional<Value> value = ParseJson(bytes, faults);
  if (!value.has_value()) return faults.ToError();
  BAILIFF_TRY_ASSIGN(const std::string again, Canonical(*value));
  if (again != bytes) {
    return Error{ErrorCode::kJsonCanonical, "bytes", "differ from their own canonical form", 0, {}};
  }
  return *std::move(value);
}

}  // namespace bailiff::policy
