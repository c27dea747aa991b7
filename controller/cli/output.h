// SPDX-License-Identifier: Apache-2.0
// What a person or a program reads: results on standard output, Bailiff's own words on standard
// error. With --json standard output holds exactly one JSON value and standard error nothing but
// one JSON value when the command fails.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/cli/command_line.h"
#include "controller/cli/json_writer.h"
#include "ipc/result.h"
#include "policy/document.h"

namespace bailiff::controller::cli {

enum class Style : unsigned char { kPlain, kGood, kBad, kDoubtful, kDim, kBold };

class Output {
 public:
  // Looks at the two descriptors once. Colour: asked for, or a terminal without NO_COLOR
  // (no-color.org) whose TERM is not "dumb".
  explicit Output(const Globals& globals);

  bool json() const { return json_; }
  bool quiet() const { return quiet_; }
  bool out_is_terminal() const { return out_terminal_; }
  bool err_is_terminal() const { return err_terminal_; }
  // Whether a progress line may be drawn.
  bool shows_progress() const { return progress_; }

  // A line for eyes on standard output; nothing with --json. Text from outside must be escaped.
  void Line(std::string_view text);
  // The JSON value; nothing without --json.
  void Json(JsonWriter&& writer);
  // Bytes on standard output as they are.
  void Bytes(std::string_view bytes);
  // A line on standard error; nothing with --quiet or --json.
  void Note(std::string_view text);

  // Colour for standard output, and for standard error.
  std::string Paint(Style style, std::string_view text) const {
    return Painted(out_color_, style, text);
  }
  std::string PaintNote(Style style, std::string_view text) const {
    return Painted(err_color_, style, text);
  }

  // Writes what is held back. An error when not everything could be written, at any time.
  Result<void> Flush();

  // Reports a failure on standard error and gives its exit status.
  int Fail(const Error& error);
  int Fail(const Error& error, int exit);  // where the status is not the code's own
  // The same for a document with several faults; `document` is its name as typed.
  int Fail(const policy::Faults& faults, std::string_view document);

 private:
  static std::string Painted(bool color, Style style, std::string_view text);

  bool json_;
  bool quiet_;
  bool out_terminal_;
  bool err_terminal_;
  bool out_color_;
  bool err_color_;
  bool progress_;
  std::string held_;
};

// "bailiff: <what> <on what>: <why> [code]" and "  fix: …", each with a line feed. Escaped.
std::string ErrorText(const Error& error);
// {"schema":"bailiff/error/v1",…}
std::string ErrorJson(const Error& error);
std::string ErrorJson(const Error& error, int exit);

// A table for eyes: columns padded to the widest cell, two blanks between, no blank at a line's
// end.
class Table {
 public:
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "1.1 MB" for disk sizes (limits: policy/units.h), "1,204", "0.041 s", "14 s", first 12 digits.
std::string ShowBytes(std::uint64_t bytes);
std::string ShowCount(std::uint64_t count);
std::string ShowMicroseconds(std::uint64_t us);
std::string ShowAge(std::int64_t ms);
std::string ShortId(std::string_view digest);  // keeps a "sha256:" prefix
// "2026-11-30 21:34:40Z".
std::string ShowTime(std::int64_t unix_ms);

// RFC 4648, section 4.
std::string Base64(std::string_view bytes);

}  // namespace bailiff::controller::cli
