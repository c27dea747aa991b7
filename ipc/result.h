// SPDX-License-Identifier: Apache-2.0
// Errors as values. An Error says what went wrong on what and why; its code comes from one closed
// table (errors.def), so every failure a person can meet has a stable name, an exit status and a
// fix. No exceptions cross a function of ours.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace bailiff {

enum class ErrorCode : unsigned {
#define BAILIFF_ERROR(name, code, exit, what, fix, requirement) name,
#include "ipc/errors.def"
#undef BAILIFF_ERROR
};

// One row of errors.def.
struct ErrorInfo {
  ErrorCode code;
  std::string_view name;  // "area.thing.fault"
  int exit;               // exit status of the command that fails with it
  std::string_view what;
  std::string_view fix;
  std::string_view requirement;
};

// The row of a code. Total: every enumerator has one.
const ErrorInfo& Info(ErrorCode code);
// All rows in the order of errors.def, for the generated reference.
std::pair<const ErrorInfo*, std::size_t> AllErrors();

struct Error {
  ErrorCode code = ErrorCode::kSystem;
  std::string subject;   // on what; may hold bytes from outside: escape before showing
  std::string why;       // may hold bytes from outside: escape before showing
  int system_error = 0;  // errno, or 0
  std::string fix;       // overrides the table's fix when not empty
};

// Error of a failed system call: `call` names it the way its man page does.
Error SystemError(std::string_view call, std::string_view subject, int error = errno);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  // Only when ok().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // Only when not ok().
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error)
      : error_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return error_.index() == 0; }
  const Error& error() const& { return std::get<1>(error_); }
  Error&& error() && { return std::get<1>(std::move(error_)); }

 private:
  std::variant<std::monostate, Error> error_;
};

}  // namespace bailiff

#define BAILIFF_JOIN_(a, b) a##b
#define BAILIFF_JOIN(a, b) BAILIFF_JOIN_(a, b)

// Returns the error of `expression` from the enclosing function when it failed. The names are
// counted, not numbered by line: an expression may hold a lambda that uses these macros itself.
#define BAILIFF_TRY(expression) BAILIFF_TRY_(BAILIFF_JOIN(bailiff_try_, __COUNTER__), (expression))
#define BAILIFF_TRY_(name, expression)        \
  do {                                        \
    if (auto name = expression; !name.ok()) { \
      return std::move(name).error();         \
    }                                         \
  } while (false)

// Declares `declaration` with the value of `expression`, or returns its error.
#define BAILIFF_TRY_ASSIGN(declaration, expression) \
  BAILIFF_TRY_ASSIGN_(BAILIFF_JOIN(bailiff_try_, __COUNTER__), declaration, expression)
#define BAILIFF_TRY_ASSIGN_(name, declaration, expression) \
  auto name = (expression);                                \
  if (!name.ok()) return std::move(name).error();          \
  declaration = std::move(name).value()
