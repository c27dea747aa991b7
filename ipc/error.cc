// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "ipc/result.h"

namespace bailiff {
namespace {

constexpr std::array kErrors = {
#define BAILIFF_ERROR(name, code, exit, what, fix, requirement) \
  ErrorInfo{ErrorCode::name, code, exit, what, fix, requirement},
#include "ipc/errors.def"
#undef BAILIFF_ERROR
};

}  // namespace

const ErrorInfo& Info(ErrorCode code) { return kErrors[static_cast<std::size_t>(code)]; }

std::pair<const ErrorInfo*, std::size_t> AllErrors() { return {kErrors.data(), kErrors.size()}; }

Error SystemError(std::string_view call, std::string_view subject, int error) {
  std::string why(call);
  why += ": ";
  why += strerrordesc_np(error) != nullptr ? strerrordesc_np(error) : "unknown error";
  if (const char* name = strerrorname_np(error); name != nullptr) {
    why += " (";
    why += name;
    why += ")";
  }
  return Error{ErrorCode::kSystem, std::string(subject), std::move(why), error, {}};
}

}  // namespace bailiff
