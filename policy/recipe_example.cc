// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "policy/recipe.h"

namespace bailiff::policy {

// The digests are placeholders of the right form: an image id and a toolchain digest are the
// operator's to fill in.
std::string ExampleRecipe() {
  return R"({
  "version": 1,
  "image": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
  "executable": "/bin/sh",
  "arguments": ["-c", "make test"],
  "environment": {"LANG": "C"},
  "toolchain": "0000000000000000000000000000000000000000000000000000000000000000",
  "limits": {
    "timeout_ms": 30000,
    "max_output_bytes": 65536,
    "memory_bytes": 67108864,
    "scratch_bytes": 16777216,
    "pids": 64,
    "cpu_millis": 1000
  }
}
)";
}

}  // namespace bailiff::policy
