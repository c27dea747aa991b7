// SPDX-License-Identifier: Apache-2.0
// A reporter that forgets: fuzz targets look at what was done, not at what was said.
#pragma once

#include "snapshotter/reporter.h"

namespace bailiff::fuzz {

class SilentReporter final : public snapshotter::Reporter {
 public:
  Result<void> Progress(std::uint64_t, std::uint64_t) override { return {}; }
  Result<void> Object(policy::ObjectKind, const policy::Digest&, std::uint64_t) override {
    return {};
  }
  Result<void> Observe(std::uint32_t, policy::EntryKind, std::uint64_t, const policy::Digest&,
                       std::string_view) override {
    return {};
  }
  Result<void> Warn(policy::SnapshotWarning, std::string_view) override { return {}; }
  Result<void> Facts(const policy::ImageFacts&) override { return {}; }
};

}  // namespace bailiff::fuzz
