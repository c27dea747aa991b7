// SPDX-License-Identifier: Apache-2.0
// JSON for --json, member by member in the order written. Writing only: documents are read by
// policy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bailiff::controller::cli {

class JsonWriter {
 public:
  // Starts the one object of an answer, with its schema as first member: "bailiff/<name>/v1".
  explicit JsonWriter(std::string_view schema);

  JsonWriter& Member(std::string_view name, std::string_view text);
  JsonWriter& Member(std::string_view name, const char* text) {
    return Member(name, std::string_view(text));
  }
  JsonWriter& Member(std::string_view name, std::int64_t number);
  JsonWriter& Member(std::string_view name, std::uint64_t number);
  JsonWriter& Member(std::string_view name, int number) {
    return Member(name, static_cast<std::int64_t>(number));
  }
  JsonWriter& Member(std::string_view name, unsigned number) {
    return Member(name, static_cast<std::uint64_t>(number));
  }
  JsonWriter& Member(std::string_view name, bool truth);
  // Bytes that need not be text: `name` when they are UTF-8 without control characters, otherwise
  // `name_hex` (contracts, section 1).
  JsonWriter& Bytes(std::string_view name, std::string_view bytes);
  // A JSON text that is known to be well formed, such as stored canonical bytes.
  JsonWriter& Raw(std::string_view name, std::string_view json);

  JsonWriter& BeginObject(std::string_view name);
  JsonWriter& BeginArray(std::string_view name);
  // Elements of an array.
  JsonWriter& BeginObject();
  JsonWriter& Element(std::string_view text);
  JsonWriter& End();  // closes the innermost object or array

  // Closes what is open and hands the text over. Once.
  std::string Finish();

 private:
  void Name(std::string_view name);
  void Comma();

  std::string text_;
  std::string closers_;
};

// A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

}  // namespace bailiff::controller::cli
