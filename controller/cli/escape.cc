// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/escape.h"

namespace bailiff::controller::cli {
namespace {

unsigned char At(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

// Length announced by a lead byte, and the range its second byte must be in.
struct Lead {
  unsigned length;
  unsigned char low;
  unsigned char high;
};

Lead LeadOf(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Whether `bytes` is a proper prefix of a well-formed sequence.
bool IsCutShort(std::string_view bytes) {
  const Lead lead = LeadOf(At(bytes, 0));
  if (bytes.size() >= lead.length) return false;
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    const unsigned char low = i == 1 ? lead.low : 0x80;
    const unsigned char high = i == 1 ? lead.high : 0xBF;
    if (At(bytes, i) < low || At(bytes, i) > high) return false;
  }
  return true;
}

void AppendHex(std::string& text, unsigned char byte) {
  static constexpr char kDigits[] = "0123456789abcdef";
  text += "\\x";
  text += kDigits[byte >> 4];
  text += kDigits[byte & 15];
}

}  // namespace

unsigned Utf8Sequence(std::string_view bytes, std::uint32_t& code) {
  if (bytes.empty()) return 0;
  const Lead lead = LeadOf(At(bytes, 0));
  if (lead.length == 0 || bytes.size() < lead.length) return 0;
  if (lead.length == 1) {
    code = At(bytes, 0);
    return 1;
  }
  if (At(bytes, 1) < lead.low || At(bytes, 1) > lead.high) return 0;
  code = At(bytes, 0) & (0xFFU >> (lead.length + 1));
  for (unsigned i = 1; i < lead.length; ++i) {
    if ((At(bytes, i) & 0xC0U) != 0x80U) return 0;
    code = (code << 6U) | (At(bytes, i) & 0x3FU);
  }
  return lead.length;
}

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    std::uint32_t code = 0;
    const unsigned length = Utf8Sequence(bytes, code);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

bool IsShowable(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
  if (code == 0x061C || code == 0x200E || code == 0x200F) return false;
  if (code >= 0x2028 && code <= 0x202E) return false;
  if (code >= 0x2066 && code <= 0x2069) return false;
  return code < 0xE0000 || code > 0xE007F;
}

std::string EscapeName(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    std::uint32_t code = 0;
    const unsigned length = Utf8Sequence(bytes, code);
    if (length != 0 && IsShowable(code)) {
      if (code == '\\') text += '\\';
      text.append(bytes.substr(0, length));
    } else {
      for (unsigned i = 0; i < (length == 0 ? 1 : length); ++i) AppendHex(text, At(bytes, i));
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string StreamEscaper::Next(std::string_view chunk) {
  std::string joined;
  if (!waiting_.empty()) {
    joined = std::move(waiting_);
    waiting_.clear();
    joined.append(chunk);
    chunk = joined;
  }
  std::string text;
  text.reserve(chunk.size());
  while (!chunk.empty()) {
    std::uint32_t code = 0;
    const unsigned length = Utf8Sequence(chunk, code);
    if (length == 0 && IsCutShort(chunk)) {
      waiting_ = chunk;
      break;
    }
    if (length != 0 && (IsShowable(code) || code == '\n' || code == '\t')) {
      text.append(chunk.substr(0, length));
    } else if (code == '\r' && length == 1) {
      text += "\\r";
    } else {
      for (unsigned i = 0; i < (length == 0 ? 1 : length); ++i) AppendHex(text, At(chunk, i));
    }
    chunk.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string StreamEscaper::Finish() {
  std::string text;
  for (const char byte : waiting_) AppendHex(text, static_cast<unsigned char>(byte));
  waiting_.clear();
  return text;
}

}  // namespace bailiff::controller::cli
