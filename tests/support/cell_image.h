// SPDX-License-Identifier: Apache-2.0
// The directories a test's cells are made of.
#pragma once

#include <string>

namespace bailiff::test {

// Below `work`: image (busybox-static and the probe), source, and two images that must be refused:
// incomplete (mount points are missing) and linked (one is a link). Dies loudly when it cannot.
void MakeImages(const std::string& work);

}  // namespace bailiff::test
