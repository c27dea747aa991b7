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

Result<AttemptOwner> PrepareOwner(Context& context, OwnersLock& locks) {
  const int data = context.host->data.get();
  BAILIFF_TRY_ASSIGN(const std::string repository, ReadAuthority(data));
  return AttemptOwner::Prepare(*context.host, locks, repository, context.operator_json);
}

Result<ImageRow> FindImage(Store& store, const std::string& text) {
  Result<ImageRow> row = store.FindImage(text);
  if (row.ok() || row.error().code != ErrorCode::kImageTag) return row;
  Error error = std::move(row).error();
  std::string name;
  for (const char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') name += c;
  }
  error.subject = "\"" + text + "\"";
  error.fix = "skopeo copy docker://" + text + " oci:" + name + " && bailiff image import " + name +
              " --name " + name;
  return error;
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
