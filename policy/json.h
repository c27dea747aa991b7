// SPDX-License-Identifier: Apache-2.0
// The strict reader of every JSON document that Bailiff itself reads: the operator's files and its
// own rows (contracts, section 1). It refuses whatever two readers could understand differently:
// duplicate members (after unescaping), a BOM, bytes after the value other than one LF, invalid
// UTF-8, U+0000, lone surrogates, floats, -0 and integers outside +-(2^53 - 1).
//
// Time is linear in the document; stack use does not grow with its depth.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "policy/document.h"
#include "policy/value.h"

namespace bailiff::policy {

inline constexpr std::size_t kMaxDocument = 1024 * 1024;  // bytes
inline constexpr std::size_t kMaxDepth = 32;              // nested arrays and objects

// Nothing when the document has a fault; `faults` then says all that were found. After a fault of
// syntax or of depth nothing further can be known.
std::optional<Value> ParseJson(std::string_view bytes, Faults& faults);

// The same, but a well-formed document with faults inside (a duplicate member, a number out of
// range) is given too, so that its schema can be judged and all faults come at once. Only for a
// caller that refuses the document when `faults` is not empty.
std::optional<Value> ParseJsonWithFaults(std::string_view bytes, Faults& faults);

}  // namespace bailiff::policy
