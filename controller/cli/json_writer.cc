// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/json_writer.h"

#include "controller/cli/escape.h"
#include "policy/digest.h"

namespace bailiff::controller::cli {

std::string JsonString(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string json = "\"";
  while (!text.empty()) {
    std::uint32_t code = 0;
    const unsigned length = Utf8Sequence(text, code);
    if (length == 0) {
      json += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    }
    if (code == '"' || code == '\\') {
      json += '\\';
      json += static_cast<char>(code);
    } else if (code == '\n') {
      json += "\\n";
    } else if (code == '\t') {
      json += "\\t";
    } else if (code < 0x20 || code == 0x7F) {
      json += "\\u00";
      json += kDigits[code >> 4U];
      json += kDigits[code & 15U];
    } else {
      json.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  json += '"';
  return json;
}

JsonWriter::JsonWriter(std::string_view schema) : text_("{"), closers_("}") {
  Member("schema", "bailiff/" + std::string(schema) + "/v1");
}

void JsonWriter::Comma() {
  if (text_.back() != '{' && text_.back() != '[') text_ += ',';
}

void JsonWriter::Name(std::string_view name) {
  Comma();
  text_ += JsonString(name);
  text_ += ':';
}

JsonWriter& JsonWriter::Member(std::string_view name, std::string_view text) {
  return Raw(name, JsonString(text));
}

JsonWriter& JsonWriter::Member(std::string_view name, std::int64_t number) {
  return Raw(name, std::to_string(number));
}

JsonWriter& JsonWriter::Member(std::string_view name, std::uint64_t number) {
  return Raw(name, std::to_string(number));
}

JsonWriter& JsonWriter::Member(std::string_view name, bool truth) {
  return Raw(name, truth ? "true" : "false");
}

JsonWriter& JsonWriter::Bytes(std::string_view name, std::string_view bytes) {
  bool text = IsUtf8(bytes);
  for (const char byte : bytes)
    text = text && static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7F;
  if (text) return Member(name, bytes);
  return Member(std::string(name) + "_hex", policy::Hex(bytes));
}

JsonWriter& JsonWriter::Raw(std::string_view name, std::string_view json) {
  Name(name);
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::BeginObject(std::string_view name) {
  Name(name);
  text_ += '{';
  closers_ += '}';
  return *this;
}

JsonWriter& JsonWriter::BeginArray(std::string_view name) {
  Name(name);
  text_ += '[';
  closers_ += ']';
  return *this;
}

JsonWriter& JsonWriter::BeginObject() {
  Comma();
  text_ += '{';
  closers_ += '}';
  return *this;
}

JsonWriter& JsonWriter::Element(std::string_view text) {
  Comma();
  text_ += JsonString(text);
  return *this;
}

JsonWriter& JsonWriter::End() {
  text_ += closers_.back();
  closers_.pop_back();
  return *this;
}

std::string JsonWriter::Finish() {
  while (!closers_.empty()) End();
  return std::move(text_);
}

}  // namespace bailiff::controller::cli
