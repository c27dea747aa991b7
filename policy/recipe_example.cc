// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "policy/recipe.h"
#include "policy/source_paths.h"

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

std::string ExampleSourcePaths() {
  return R"({
  "version": 1,
  "expectations": [
    {"path": "src/lib.rs", "sha256": "0000000000000000000000000000000000000000000000000000000000000000"}
  ],
  "limits": {"max_paths": 32, "max_total_bytes": 16777216, "max_output_bytes": 4096, "timeout_ms": 30000}
}
)";
}

}  // namespace bailiff::policy
