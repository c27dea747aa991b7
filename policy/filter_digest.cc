// SPDX-License-Identifier: Apache-2.0
// Apart from filter.cc so that helpers that never hash link no digest code.
#include "policy/filter.h"

namespace bailiff::policy {

Digest FilterDigest(Role role) {
  const std::span<const sock_filter> program = FilterProgram(role);
  return HashDomain("bailiff.filter.v1", {reinterpret_cast<const char*>(program.data()),
                                          program.size() * sizeof(sock_filter)});
}

}  // namespace bailiff::policy
