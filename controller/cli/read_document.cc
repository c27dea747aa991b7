// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/read_document.h"

#include <unistd.h>

#include <cerrno>

#include "policy/json.h"

namespace bailiff::controller::cli {

Result<std::string> ReadDocument(const Opened& document) {
  const std::string subject = document.name == "-" ? "standard input" : document.name;
  std::string bytes(policy::kMaxDocument + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = read(document.fd.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", subject);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > policy::kMaxDocument) {
    return Error{ErrorCode::kFileTooLarge, subject, "more than 1 MiB", 0, {}};
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace bailiff::controller::cli
