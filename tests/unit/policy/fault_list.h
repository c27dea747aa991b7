// SPDX-License-Identifier: Apache-2.0
// What tests of documents share: faults as "pointer code" lines, and text with a part replaced.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "policy/document.h"

namespace bailiff::policy {

inline std::vector<std::string> Listed(const Faults& faults) {
  std::vector<std::string> lines;
  for (const Fault& fault : faults.list()) {
    lines.push_back(fault.pointer + " " + std::string(Info(fault.error.code).name));
  }
  return lines;
}

inline std::string Replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << "the test replaces what is not there: " << what;
  if (at != std::string::npos) text.replace(at, what.size(), with);
  return text;
}

}  // namespace bailiff::policy
