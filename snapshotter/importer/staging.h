// SPDX-License-Identifier: Apache-2.0
// Objects written into /out under the name of their digest. Whatever is staged is hashed again by
// the controller after this process is reaped.
#pragma once

#include <string_view>
#include <unordered_set>

#include "ipc/fd.h"
#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

class Staging {
 public:
  Staging(int out, Reporter& reporter) : out_(out), reporter_(reporter) {}

  // Whole objects.
  Result<policy::Digest> Put(policy::ObjectKind kind, std::string_view bytes);

  // A blob whose digest is known only at its end: written to `temporary`, then named. One at a
  // time.
  Result<ipc::Fd> Begin();
  Result<void> Commit(const policy::Digest& digest, std::uint64_t size);

 private:
  struct DigestHash {
    std::size_t operator()(const policy::Digest& digest) const;
  };
  bool Known(policy::ObjectKind kind, const policy::Digest& digest);

  int out_;
  Reporter& reporter_;
  std::unordered_set<policy::Digest, DigestHash> blobs_;
};

}  // namespace bailiff::snapshotter
