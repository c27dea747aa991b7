// SPDX-License-Identifier: Apache-2.0
#include "policy/document.h"

#include <algorithm>
#include <utility>

namespace bailiff::policy {
namespace {

std::string_view KindName(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kBoolean:
      return "a boolean";
    case Value::Kind::kInteger:
      return "a number";
    case Value::Kind::kString:
      return "a string";
    case Value::Kind::kArray:
      return "an array";
    case Value::Kind::kObject:
      return "an object";
  }
  return "?";
}

}  // namespace

void Faults::Add(std::string_view pointer, ErrorCode code, std::string subject, std::string why,
                 std::string fix) {
  // A number that could not be read stands for nothing: its bounds are not judged as well.
  for (const Fault& fault : list_) {
    const bool unread =
        fault.error.code == ErrorCode::kJsonNumber || fault.error.code == ErrorCode::kJsonRange;
    if (unread && code != ErrorCode::kJsonDuplicate && fault.pointer == pointer) return;
  }
  if (list_.size() >= kMax) {
    cut_ = true;
    return;
  }
  list_.push_back(Fault{std::string(pointer),
                        Error{code, std::move(subject), std::move(why), 0, std::move(fix)}});
}

Error Faults::ToError() const {
  Error error = list_.front().error;
  const std::string& pointer = list_.front().pointer;
  if (!pointer.empty()) error.why += " (at " + pointer + ")";
  return error;
}

std::string Child(std::string_view pointer, std::string_view token) {
  std::string child(pointer);
  child += '/';
  for (const char c : token) {
    if (c == '~') {
      child += "~0";
    } else if (c == '/') {
      child += "~1";
    } else {
      child += c;
    }
  }
  return child;
}

std::string Child(std::string_view pointer, std::size_t index) {
  return Child(pointer, std::to_string(index));
}

void AddTypeFault(Faults& faults, std::string_view pointer, std::string_view subject,
                  std::string_view wanted, const Value& found) {
  std::string why = "must be ";
  why += wanted;
  why += ", is ";
  why += KindName(found.kind());
  faults.Add(pointer, ErrorCode::kJsonType, std::string(subject), std::move(why));
}

Members::Members(const Value& value, std::string_view pointer, Faults& faults)
    : object_(value.object()), pointer_(pointer), faults_(faults) {
  known_.reserve(8);
  if (object_ == nullptr) AddTypeFault(faults, pointer, "document", "an object", value);
}

bool Members::Has(std::string_view name) const { return Peek(name) != nullptr; }

const Value* Members::Peek(std::string_view name) const {
  if (object_ == nullptr) return nullptr;
  for (const Value::Member& member : *object_) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

const Value* Members::Optional(std::string_view name) {
  known_.push_back(name);
  return Peek(name);
}

const Value* Members::Required(std::string_view name) {
  const Value* value = Optional(name);
  if (value == nullptr && object_ != nullptr) {
    faults_.Add(Child(pointer_, name), ErrorCode::kJsonMissing, std::string(name),
                "this member is required and is not there");
  }
  return value;
}

void Members::WrongType(std::string_view name, std::string_view wanted, const Value& found) {
  AddTypeFault(faults_, Child(pointer_, name), name, wanted, found);
}

std::optional<std::string> Members::String(std::string_view name) {
  const Value* value = Required(name);
  if (value == nullptr) return std::nullopt;
  if (value->string() != nullptr) return *value->string();
  WrongType(name, "a string", *value);
  return std::nullopt;
}

std::optional<std::int64_t> Members::Integer(std::string_view name) {
  const Value* value = Required(name);
  if (value == nullptr) return std::nullopt;
  if (value->integer() != nullptr) return *value->integer();
  WrongType(name, "a number", *value);
  return std::nullopt;
}

std::optional<std::uint64_t> Members::Number(std::string_view name) {
  const std::optional<std::int64_t> value = Integer(name);
  if (!value.has_value()) return std::nullopt;
  if (*value >= 0) return static_cast<std::uint64_t>(*value);
  faults_.Add(Child(pointer_, name), ErrorCode::kJsonRange,
              std::string(name) + " " + std::to_string(*value), "must not be negative");
  return std::nullopt;
}

std::optional<bool> Members::Boolean(std::string_view name) {
  const Value* value = Required(name);
  if (value == nullptr) return std::nullopt;
  if (value->boolean() != nullptr) return *value->boolean();
  WrongType(name, "true or false", *value);
  return std::nullopt;
}

std::optional<Digest> Members::Hash(std::string_view name) {
  const std::optional<std::string> text = String(name);
  if (!text.has_value()) return std::nullopt;
  std::optional<Digest> digest = ParseDigest(*text);
  if (!digest.has_value()) {
    faults_.Add(Child(pointer_, name), ErrorCode::kJsonDigest, std::string(name),
                "must be 64 lower-case hexadecimal digits");
  }
  return digest;
}

const Value::Array* Members::List(std::string_view name) {
  const Value* value = Required(name);
  if (value == nullptr) return nullptr;
  if (value->array() == nullptr) WrongType(name, "an array", *value);
  return value->array();
}

void Members::Finish() {
  if (object_ == nullptr) return;
  for (const Value::Member& member : *object_) {
    if (std::find(known_.begin(), known_.end(), member.name) != known_.end()) continue;
    faults_.Add(Child(pointer_, member.name), ErrorCode::kJsonUnknown, member.name,
                "no member of this name belongs here");
  }
}

}  // namespace bailiff::policy
