// SPDX-License-Identifier: Apache-2.0
// A tree manifest out of a store that something else may have written. What is accepted must be
// what the builder writes.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "snapshotter/objects.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bailiff;
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const policy::TreeBounds& bounds =
      (data[0] & 1) != 0 ? policy::kImageBounds : policy::kSourceBounds;
  const auto names = (data[0] & 2) != 0 ? policy::TreeNames::kImage : policy::TreeNames::kSource;
  const auto manifest = snapshotter::ParseTree(bytes, bounds, names);
  if (!manifest.ok()) return 0;
  snapshotter::TreeBuilder builder(bounds, names);
  for (auto entry = manifest->entries.rbegin(); entry != manifest->entries.rend(); ++entry) {
    if (!builder.Add(entry->kind, entry->size, entry->blob, entry->path).ok()) std::abort();
  }
  if (builder.bytes() != manifest->total || builder.Finish() != bytes) std::abort();
  return 0;
}
