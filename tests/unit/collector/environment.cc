// SPDX-License-Identifier: Apache-2.0
// Puts every test of this program where a controller stands.
#include <gtest/gtest.h>

#include "tests/support/cell_host.h"

namespace bailiff::test {
namespace {

class Host : public testing::Environment {
 public:
  void SetUp() override { CellHost::Get().Enter(); }
  void TearDown() override { CellHost::Get().Leave(); }
};
[[maybe_unused]] auto* const kHost = testing::AddGlobalTestEnvironment(new Host);

}  // namespace
}  // namespace bailiff::test
