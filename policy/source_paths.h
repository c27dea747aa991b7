// SPDX-License-Identifier: Apache-2.0
// The recipe of a source_paths/v1 check: which files must have which bytes (R14.01..R14.05;
// contracts, section 2). The check itself runs in the snapshotter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/digest.h"
#include "policy/document.h"
#include "policy/limits.h"
#include "policy/value.h"

namespace bailiff::policy {

inline constexpr std::string_view kSourcePathsKind = "source_paths/v1";

struct Expectation {
  std::string path;  // portable, see paths.h
  Digest sha256;
  bool operator==(const Expectation&) const = default;
};

struct SourcePathsRecipe {
  std::vector<Expectation> expectations;  // sorted by path bytes, unique
  std::uint64_t max_paths = kPathCount.usual;
  std::uint64_t max_total_bytes = kObservedBytes.usual;
  std::uint64_t max_output_bytes = kObservationBytes.usual;
  std::uint64_t timeout_ms = kTimeoutMs.usual;
  bool operator==(const SourcePathsRecipe&) const = default;
};

// Nothing when there is a fault. The order of expectations in the document does not matter
// (R14.05).
std::optional<SourcePathsRecipe> ReadSourcePaths(const Value& value, std::string_view pointer,
                                                 Faults& faults);
std::string CanonicalSourcePaths(const SourcePathsRecipe& recipe);
Digest SourcePathsDigest(const SourcePathsRecipe& recipe);

// A faultless recipe as pretty text.
std::string ExampleSourcePaths();

}  // namespace bailiff::policy
