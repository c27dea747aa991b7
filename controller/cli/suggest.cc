// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/suggest.h"

#include <algorithm>
#include <array>

namespace bailiff::controller::cli {
namespace {

constexpr std::size_t kLongest = 64;

}  // namespace

unsigned EditDistance(std::string_view a, std::string_view b) {
  if (a.size() > kLongest || b.size() > kLongest) return kLongest;
  std::array<std::array<unsigned, kLongest + 1>, kLongest + 1> cost{};
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = static_cast<unsigned>(i + j);
        continue;
      }
      const unsigned replace = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  unsigned best_distance = std::max(1U, static_cast<unsigned>(word.size() / 3)) + 1;
  for (std::string_view candidate : candidates) {
    const unsigned distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace bailiff::controller::cli
