// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>
#include <set>

#include "policy/json.h"

namespace bailiff::controller::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::set<int> kExits = {64, 65, 66, 69, 70, 73, 74, 75, 77, 78, 130, 143};

TEST(Errors, every_row_has_a_code_an_exit_of_the_table_and_one_fix) {
  const auto [rows, count] = AllErrors();
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < count; ++i) {
    const ErrorInfo& row = rows[i];
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(std::count(row.name.begin(), row.name.end(), '.'), 2) << row.name;
    EXPECT_TRUE(kExits.contains(row.exit)) << row.name << " " << row.exit;
    EXPECT_FALSE(row.what.empty()) << row.name;
    EXPECT_FALSE(row.fix.empty()) << row.name;
    EXPECT_EQ(row.fix.find('\n'), row.fix.npos) << row.name;
    EXPECT_EQ(&Info(row.code), &row);
  }
}

// A fix that names a command of ours names one that exists in this version.
TEST(Errors, a_fix_names_only_commands_that_exist) {
  const auto [rows, count] = AllErrors();
  const std::regex named("bailiff ([a-z][a-z-]*)( [a-z][a-z-]*)?");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string fix(rows[i].fix);
    for (std::sregex_iterator at(fix.begin(), fix.end(), named), end; at != end; ++at) {
      const std::string noun = (*at)[1];
      const std::string word = (*at)[2].matched ? (*at)[2].str().substr(1) : "";
      EXPECT_TRUE(FindVerb(noun, "") != nullptr || FindVerb(noun, word) != nullptr)
          << rows[i].name << ": " << fix;
    }
  }
}

TEST(Errors, text_is_what_on_what_why_code_and_fix) {
  EXPECT_EQ(ErrorText(Error{ErrorCode::kFileMissing, "a.json", "it is not there", 2, {}}),
            "bailiff: file a.json: it is not there [cli.file.missing]\n  fix: check the name\n");
  EXPECT_EQ(ErrorText(Error{ErrorCode::kCommandMissing, {}, {}, 0, "do this"}),
            "bailiff: command to run [cli.command.missing]\n  fix: do this\n");
}

TEST(Errors, text_holds_no_control_byte_whatever_is_in_it) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string text = ErrorText(Error{ErrorCode::kFileMissing, all, all, 2, all});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  for (const char byte : text)
    EXPECT_TRUE(byte == '\n' || static_cast<unsigned char>(byte) >= 0x20);
  EXPECT_THAT(text, Not(HasSubstr("\x7f")));
}

TEST(Errors, json_of_every_row_is_one_value_with_its_members) {
  const auto [rows, count] = AllErrors();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string text = ErrorJson(Error{rows[i].code, "s", "w", 5, {}});
    policy::Faults faults;
    const auto value = policy::ParseJson(text, faults);
    ASSERT_TRUE(value.has_value()) << text;
    EXPECT_EQ(*value->Find("schema")->string(), "bailiff/error/v1");
    EXPECT_EQ(*value->Find("code")->string(), rows[i].name);
    EXPECT_EQ(*value->Find("exit")->integer(), rows[i].exit);
    EXPECT_EQ(*value->Find("fix")->string(), rows[i].fix);
    EXPECT_EQ(*value->Find("errno")->integer(), 5);
  }
}

TEST(Errors, an_interrupted_call_says_the_status_it_ends_with) {
  const Error cancelled{ErrorCode::kCancelled, {}, "nothing was stored", 0, {}};
  EXPECT_NE(ErrorJson(cancelled, 143).find("\"exit\":143"), std::string::npos);
  EXPECT_NE(ErrorJson(cancelled).find("\"exit\":130"), std::string::npos);
}

TEST(Errors, a12_json_carries_bytes_that_are_not_text_losslessly) {
  const std::string text = ErrorJson(Error{ErrorCode::kFileMissing, "a\xff\n", "w", 0, {}});
  EXPECT_THAT(text, HasSubstr("\"subject_hex\":\"61ff0a\""));
  policy::Faults faults;
  EXPECT_TRUE(policy::ParseJson(text, faults).has_value()) << text;
}

TEST(Json, strings_are_escaped) {
  EXPECT_EQ(JsonString("a\"\\\n\t\x01\x7f"), "\"a\\\"\\\\\\n\\t\\u0001\\u007f\"");
  EXPECT_EQ(JsonString("\xff"
                       "é"),
            "\"\xEF\xBF\xBDé\"");
}

TEST(Json, nests) {
  JsonWriter json("x.y");
  json.Member("n", -1)
      .Member("t", true)
      .BeginArray("a")
      .Element("1")
      .BeginObject()
      .Member("k", 2U)
      .End()
      .End();
  json.BeginObject("o").Raw("r", "{}");
  EXPECT_EQ(json.Finish(),
            R"({"schema":"bailiff/x.y/v1","n":-1,"t":true,"a":["1",{"k":2}],"o":{"r":{}}})");
}

TEST(Output, a_full_disk_is_an_error_and_not_silence) {
  const int saved = dup(STDOUT_FILENO);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  ASSERT_EQ(dup2(full, STDOUT_FILENO), STDOUT_FILENO);
  Output output(Globals{});
  output.Line("text");
  const Result<void> written = output.Flush();
  ASSERT_EQ(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
  close(saved);
  close(full);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kOutputWrite);
  EXPECT_EQ(Info(written.error().code).exit, 74);
}

TEST(Output, colour_only_when_asked_for_here) {
  Globals globals;
  EXPECT_EQ(Output(globals).Paint(Style::kGood, "x"), "x");  // a test's output is no terminal
  globals.color = Color::kAlways;
  EXPECT_EQ(Output(globals).Paint(Style::kGood, "x"), "\x1b[32mx\x1b[0m");
  globals.json = true;
  EXPECT_EQ(Output(globals).Paint(Style::kGood, "x"), "x");
}

TEST(Output, tables_are_aligned_by_what_is_seen) {
  Table table;
  table.Row({"A", "B"});
  table.Row({"größe", "\x1b[32mx\x1b[0m"});
  table.Row({"x", ""});
  EXPECT_EQ(table.Text(), "A      B\ngröße  \x1b[32mx\x1b[0m\nx\n");
}

TEST(Show, figures) {
  EXPECT_EQ(ShowBytes(213), "213 B");
  EXPECT_EQ(ShowBytes(1'100'000), "1.1 MB");
  EXPECT_EQ(ShowCount(1204), "1,204");
  EXPECT_EQ(ShowCount(12), "12");
  EXPECT_EQ(ShowMicroseconds(41'000), "0.041 s");
  EXPECT_EQ(ShowMicroseconds(18'200'000), "18.2 s");
  EXPECT_EQ(ShowAge(14'000), "14 s");
  EXPECT_EQ(ShortId("sha256:0123456789abcdef"), "sha256:0123456789ab");
  EXPECT_EQ(ShortId("0123456789abcdef"), "0123456789ab");
  EXPECT_EQ(ShowTime(0), "1970-01-01 00:00:00Z");
}

TEST(Show, base64_of_rfc_4648) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace bailiff::controller::cli
