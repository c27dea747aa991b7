// SPDX-License-Identifier: Apache-2.0
// Bytes from outside on their way to a person's eyes. A terminal obeys what it is shown, so what a
// candidate or a file name can choose is shown with every control taken out (case a12).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bailiff::controller::cli {

// Length of the well-formed UTF-8 sequence at the front of `bytes` (Unicode 15, table 3-7), 0 when
// it is not one. `code` gets its scalar value.
unsigned Utf8Sequence(std::string_view bytes, std::uint32_t& code);
bool IsUtf8(std::string_view bytes);

// Whether a scalar value may be shown: no C0 or C1 control, no DEL, no bidirectional control, no
// line or paragraph separator, nothing of the tag block.
bool IsShowable(std::uint32_t code);

// A name or a message on one line: what may not be shown is written \xNN byte by byte, a backslash
// is doubled, so two different names never look alike.
std::string EscapeName(std::string_view bytes);

// A stream of output for a terminal, chunk by chunk. Line feeds and tabs pass; everything else that
// may not be shown becomes \xNN (a carriage return \r). A sequence cut by a chunk's end waits for
// the next chunk.
class StreamEscaper {
 public:
  std::string Next(std::string_view chunk);
  // What still waits, at the end of the stream.
  std::string Finish();

 private:
  std::string waiting_;  // at most 3 bytes
};

}  // namespace bailiff::controller::cli
