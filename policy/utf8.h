// SPDX-License-Identifier: Apache-2.0
// What counts as text. No allocation: helpers use it after lockdown.
#pragma once

#include <string_view>

namespace bailiff::policy {

// True when the bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool IsUtf8(std::string_view bytes);

// True when text can be a string of a document: UTF-8 without U+0000.
bool IsText(std::string_view bytes);

// True when a byte of well-formed UTF-8 begins or is a control character (U+0000..U+001F, U+007F,
// U+0080..U+009F): such a name is written as hex in documents (contracts, section 1).
bool HasControl(std::string_view utf8);

}  // namespace bailiff::policy
