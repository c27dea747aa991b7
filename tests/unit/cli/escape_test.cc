// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/escape.h"

#include <gtest/gtest.h>

namespace bailiff::controller::cli {
namespace {

using std::string_literals::operator""s;

TEST(Escape, a12_what_a_terminal_would_obey_is_spelt_out) {
  StreamEscaper escaper;
  EXPECT_EQ(escaper.Next("\xff\xc0\x80\0\x1b[0m\r\n"s), "\\xff\\xc0\\x80\\x00\\x1b[0m\\r\n");
  EXPECT_EQ(escaper.Next("tab\tбайт\x7f"), "tab\tбайт\\x7f");
  EXPECT_EQ(escaper.Next("\xc2\x9b"
                         "31m"),
            "\\xc2\\x9b31m");                                           // C1 CSI
  EXPECT_EQ(escaper.Next("\xe2\x80\xae"), "\\xe2\\x80\\xae");           // right-to-left override
  EXPECT_EQ(escaper.Next("\xf3\xa0\x81\x81"), "\\xf3\\xa0\\x81\\x81");  // tag block
  EXPECT_EQ(escaper.Next("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(escaper.Finish(), "");
}

TEST(Escape, a12_a_sequence_split_anywhere_is_the_same) {
  const std::string text = "a\xd0\x9f\xe2\x82\xac\xf0\x9f\x98\x80z";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    for (std::size_t next = cut; next <= text.size(); ++next) {
      StreamEscaper escaper;
      std::string shown = escaper.Next(std::string_view(text).substr(0, cut));
      shown += escaper.Next(std::string_view(text).substr(cut, next - cut));
      shown += escaper.Next(std::string_view(text).substr(next));
      shown += escaper.Finish();
      EXPECT_EQ(shown, text) << cut << " " << next;
    }
  }
}

TEST(Escape, a12_a_sequence_cut_by_the_end_is_spelt_out) {
  StreamEscaper escaper;
  EXPECT_EQ(escaper.Next("a\xe2\x82"), "a");
  EXPECT_EQ(escaper.Finish(), "\\xe2\\x82");
  EXPECT_EQ(escaper.Finish(), "");
}

TEST(Escape, two_names_never_look_alike) {
  EXPECT_EQ(EscapeName("a\nb"), "a\\x0ab");
  EXPECT_EQ(EscapeName("a\\x0ab"), "a\\\\x0ab");
  EXPECT_EQ(EscapeName("\xe2\x80\x8e"
                       "name"),
            "\\xe2\\x80\\x8ename");
}

TEST(Escape, knows_utf8) {
  EXPECT_TRUE(IsUtf8("größe €"));
  for (const char* bad : {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xc2"}) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
}

}  // namespace
}  // namespace bailiff::controller::cli
