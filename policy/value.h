// SPDX-License-Identifier: Apache-2.0
// One JSON value as Bailiff knows it: null, boolean, integer, string, array, object. There are no
// floats (contracts, section 1). What json.h reads and what jcs.h writes is this type; no header of
// a JSON library is needed to use it.
//
// Building a document:
//   Value record = Value::MakeObject();
//   record.Set("kind", "command/v1").Set("generation", 1).SetIf("signal", optional_signal);
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "policy/digest.h"

namespace bailiff::policy {

// Largest integer a document may hold, either sign: 2^53 - 1 (RFC 8785, 3.2.2.3; I-JSON).
inline constexpr std::int64_t kMaxInteger = 9007199254740991;

class Value {
 public:
  // Same order as the alternatives of state_.
  enum class Kind { kNull, kBoolean, kInteger, kString, kArray, kObject };
  struct Member;
  using Array = std::vector<Value>;
  using Object = std::vector<Member>;  // in document order; names unique

  Value() = default;  // null
  // Implicit on purpose: documents are written as literals.
  // NOLINTBEGIN(google-explicit-constructor)
  Value(bool value);
  Value(std::string value);
  Value(std::string_view value);
  Value(const char* value);
  Value(const Digest& digest);  // 64 hex digits
  // An unsigned number above what int64 holds becomes the largest int64, which the writer refuses
  // like every number above kMaxInteger.
  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) Value(T value)
      : Value(Saturate(value)) {}
  // NOLINTEND(google-explicit-constructor)

  static Value MakeArray();
  static Value MakeObject();

  Kind kind() const { return static_cast<Kind>(state_.index()); }
  // Null pointer unless the value is of that kind.
  const bool* boolean() const { return std::get_if<bool>(&state_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&state_); }
  const std::string* string() const { return std::get_if<std::string>(&state_); }
  const Array* array() const { return std::get_if<Array>(&state_); }
  Array* array() { return std::get_if<Array>(&state_); }
  const Object* object() const { return std::get_if<Object>(&state_); }
  Object* object() { return std::get_if<Object>(&state_); }
  // The member of an object, or null.
  const Value* Find(std::string_view name) const;

  // On an object: adds the member, or replaces the one of that name.
  Value& Set(std::string_view name, Value value);
  // Adds the member only when there is something to add: "a member that does not apply is absent".
  template <class T>
  Value& SetIf(std::string_view name, const std::optional<T>& value) {
    if (value.has_value()) Set(name, Value(*value));
    return *this;
  }
  // On an array.
  Value& Append(Value value);

  bool operator==(const Value&) const;

 private:
  struct Integer {
    std::int64_t value;
  };
  explicit Value(Integer integer);
  template <std::integral T>
  static Integer Saturate(T value) {
    if (std::in_range<std::int64_t>(value)) return {static_cast<std::int64_t>(value)};
    return {std::numeric_limits<std::int64_t>::max()};
  }

  std::variant<std::monostate, bool, std::int64_t, std::string, Array, Object> state_;
};

struct Value::Member {
  std::string name;
  Value value;
  bool operator==(const Member&) const = default;
};

}  // namespace bailiff::policy
