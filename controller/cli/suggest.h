// SPDX-License-Identifier: Apache-2.0
// The nearest word that exists, for a word that does not.
#pragma once

#include <span>
#include <string_view>

namespace bailiff::controller::cli {

// Edit distance with transpositions of neighbours (optimal string alignment). Words are short:
// anything over 64 bytes is "far".
unsigned EditDistance(std::string_view a, std::string_view b);

// The candidate with the smallest distance, when that is at most a third of the word (at least one
// edit); otherwise empty.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace bailiff::controller::cli
