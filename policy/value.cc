// SPDX-License-Identifier: Apache-2.0
#include "policy/value.h"

namespace bailiff::policy {

Value::Value(bool value) : state_(value) {}
Value::Value(std::string value) : state_(std::move(value)) {}
Value::Value(std::string_view value) : state_(std::string(value)) {}
Value::Value(const char* value) : state_(std::string(value)) {}
Value::Value(const Digest& digest) : state_(digest.hex()) {}
Value::Value(Integer integer) : state_(integer.value) {}

Value Value::MakeArray() {
  Value value;
  value.state_.emplace<Array>();
  return value;
}

Value Value::MakeObject() {
  Value value;
  value.state_.emplace<Object>().reserve(8);
  return value;
}

const Value* Value::Find(std::string_view name) const {
  const Object* members = object();
  if (members == nullptr) return nullptr;
  for (const Member& member : *members) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

Value& Value::Set(std::string_view name, Value value) {
  auto& members = std::get<Object>(state_);
  for (Member& member : members) {
    if (member.name == name) {
      member.value = std::move(value);
      return *this;
    }
  }
  members.push_back(Member{std::string(name), std::move(value)});
  return *this;
}

Value& Value::Append(Value value) {
  std::get<Array>(state_).push_back(std::move(value));
  return *this;
}

bool Value::operator==(const Value& other) const { return state_ == other.state_; }

}  // namespace bailiff::policy
