// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/session.h"

#include <charconv>

#include "controller/store/layout.h"

namespace bailiff::controller::cli {

Result<Store> OpenStore(Context& context) {
  const int data = context.host->data.get();
  BAILIFF_TRY(CheckFormat(data));
  StoreOptions options;
  BAILIFF_TRY_ASSIGN(options.repository, ReadAuthority(data));
  options.path = std::string(kDataMount) + "/" + kDatabaseName;
  options.operator_json = context.operator_json;
  return Store::Open(std::move(options));
}

Result<std::int64_t> ParseWhole(const std::string& text, std::string_view name) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return Error{ErrorCode::kArgumentValue,
                 std::string(name) + " \"" + text + "\"",
                 "not a whole number",
                 0,
                 {}};
  }
  return value;
}

}  // namespace bailiff::controller::cli
