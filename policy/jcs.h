// SPDX-License-Identifier: Apache-2.0
// The one canonical form of a JSON value: RFC 8785, restricted to what Value holds. Members are
// sorted by the UTF-16 code units of their names.
#pragma once

#include <string>
#include <string_view>

#include "ipc/result.h"
#include "policy/value.h"

namespace bailiff::policy {

// Refuses null, text that is not UTF-8 or holds U+0000, integers outside +-(2^53 - 1), and more
// than kMaxDepth levels: nothing is written that the strict reader would not read back.
Result<std::string> Canonical(const Value& value);

// Reads bytes that must be exactly their own canonical form, e.g. a stored row.
Result<Value> ParseCanonical(std::string_view bytes);

// The text in quotes with the escapes of RFC 8785, 3.2.2.2; for writers with a member order of
// their own. `text` must be valid UTF-8.
void AppendQuoted(std::string& out, std::string_view text);

}  // namespace bailiff::policy
