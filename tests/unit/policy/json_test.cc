// SPDX-License-Identifier: Apache-2.0
#include "policy/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <string>
#include <thread>

#include "fault_list.h"
#include "policy/utf8.h"

namespace bailiff::policy {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> FaultsOf(std::string_view bytes) {
  Faults faults;
  const auto value = ParseJson(bytes, faults);
  EXPECT_EQ(value.has_value(), faults.empty());
  return Listed(faults);
}

TEST(Json, reads_every_kind_of_value) {
  Faults faults;
  const auto value = ParseJson(R"( {"a":[true,false,null,-5,"x\u00e9\ud83d\ude00"],"b":{}})"
                               "\n",
                               faults);
  ASSERT_TRUE(value.has_value());
  const Value* list = value->Find("a");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->array()->size(), 5U);
  EXPECT_EQ((*list->array())[0], Value(true));
  EXPECT_EQ((*list->array())[2], Value());
  EXPECT_EQ((*list->array())[3], Value(-5));
  EXPECT_EQ((*list->array())[4], Value("x\xc3\xa9\xf0\x9f\x98\x80"));
  EXPECT_EQ(*value->Find("b"), Value::MakeObject());
}

TEST(Json, g01_duplicate_members_are_refused_after_unescaping) {
  EXPECT_THAT(FaultsOf(R"({"outcome":"success","outcome":"failed"})"),
              ElementsAre("/outcome json.member.duplicate"));
  EXPECT_THAT(FaultsOf(R"({"payload":1,"pay\u006coad":2})"),
              ElementsAre("/payload json.member.duplicate"));
  EXPECT_THAT(FaultsOf(R"([{"s":1},{"s":1,"s":2,"s":3}])"),
              ElementsAre("/1/s json.member.duplicate"));
  // Letter case makes another name: no duplicate, and no match either (see document tests).
  EXPECT_TRUE(FaultsOf(R"({"Payload":1,"payload":2})").empty());
}

TEST(Json, g01_trailing_bytes_are_refused) {
  EXPECT_TRUE(FaultsOf("{}").empty());
  EXPECT_TRUE(FaultsOf("{}\n").empty());
  EXPECT_THAT(FaultsOf("{}\n\n"), ElementsAre(" json.document.trailing"));
  EXPECT_THAT(FaultsOf("{} "), ElementsAre(" json.document.trailing"));
  EXPECT_THAT(FaultsOf("{}\t"), ElementsAre(" json.document.trailing"));
  EXPECT_THAT(FaultsOf("{}\r\n"), ElementsAre(" json.document.trailing"));
  EXPECT_THAT(FaultsOf("{}{}"), ElementsAre(" json.document.syntax"));
  EXPECT_THAT(FaultsOf("{}x"), ElementsAre(" json.document.syntax"));
  EXPECT_THAT(FaultsOf(std::string("{}\0", 3)), ElementsAre(" json.document.nul"));
  EXPECT_THAT(FaultsOf(std::string("{}\0{}", 5)), ElementsAre(" json.document.nul"));
  EXPECT_THAT(FaultsOf(""), ElementsAre(" json.document.syntax"));
}

TEST(Json, g01_numbers_two_readers_could_read_differently_are_refused) {
  EXPECT_TRUE(FaultsOf("[9007199254740991,-9007199254740991,0]").empty());
  EXPECT_THAT(FaultsOf("[1,9007199254740992]"), ElementsAre("/1 json.number.range"));
  EXPECT_THAT(FaultsOf("9007199254740993"), ElementsAre(" json.number.range"));
  EXPECT_THAT(FaultsOf("-9007199254740992"), ElementsAre(" json.number.range"));
  EXPECT_THAT(FaultsOf("18446744073709551616"), ElementsAre(" json.number.range"));
  EXPECT_THAT(FaultsOf("-9223372036854775809"), ElementsAre(" json.number.range"));
  EXPECT_THAT(FaultsOf("1e400"), ElementsAre(" json.number.range"));
  EXPECT_THAT(FaultsOf("1.0"), ElementsAre(" json.number.form"));
  EXPECT_THAT(FaultsOf("1e2"), ElementsAre(" json.number.form"));
  EXPECT_THAT(FaultsOf("-0"), ElementsAre(" json.number.form"));
  EXPECT_THAT(FaultsOf("-0.0"), ElementsAre(" json.number.form"));
  EXPECT_THAT(FaultsOf("01"), ElementsAre(" json.document.syntax"));
  EXPECT_THAT(FaultsOf("+1"), ElementsAre(" json.document.syntax"));
  EXPECT_THAT(FaultsOf("NaN"), ElementsAre(" json.document.syntax"));
}

TEST(Json, g01_text_two_readers_could_read_differently_is_refused) {
  EXPECT_THAT(FaultsOf("\xef\xbb\xbf{}"), ElementsAre(" json.document.bom"));
  EXPECT_THAT(FaultsOf("\"\xff\""), ElementsAre(" json.document.utf8"));
  EXPECT_THAT(FaultsOf("\"\xc0\xaf\""), ElementsAre(" json.document.utf8"));
  EXPECT_THAT(FaultsOf("\"\xed\xa0\x80\""), ElementsAre(" json.document.utf8"));
  EXPECT_THAT(FaultsOf(R"("\ud800")"), ElementsAre(" json.string.surrogate"));
  EXPECT_THAT(FaultsOf(R"("\udc00")"), ElementsAre(" json.string.surrogate"));
  EXPECT_THAT(FaultsOf(R"("\ud800\u0041")"), ElementsAre(" json.string.surrogate"));
  EXPECT_THAT(FaultsOf(R"({"a\u0000b":1})"),
              ElementsAre(std::string("/a\0b json.document.nul", 22)));
  EXPECT_THAT(FaultsOf(R"(["a","\u0000"])"), ElementsAre("/1 json.document.nul"));
  EXPECT_THAT(FaultsOf("\"a\nb\""), ElementsAre(" json.document.syntax"));
  EXPECT_THAT(FaultsOf("[1,]"), ElementsAre("/1 json.document.syntax"));
  EXPECT_THAT(FaultsOf("[1]//x"), ElementsAre(" json.document.syntax"));
  EXPECT_THAT(FaultsOf("'a'"), ElementsAre(" json.document.syntax"));
}

TEST(Json, all_faults_of_a_well_formed_document_come_at_once) {
  EXPECT_THAT(
      FaultsOf(R"({"a":1.5,"b":{"c":-0},"a":9007199254740992})"),
      ElementsAre("/a json.number.form", "/b/c json.number.form", "/a json.member.duplicate"));
}

TEST(Json, the_place_of_a_syntax_error_is_named) {
  Faults faults;
  EXPECT_FALSE(ParseJson("{\n  \"a\": tru\n}", faults).has_value());
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults.list()[0].error.subject, ::testing::HasSubstr("line 2"));
}

TEST(Json, size_is_bounded_at_one_mebibyte) {
  std::string largest = "\"" + std::string(kMaxDocument - 2, 'x') + "\"";
  EXPECT_TRUE(FaultsOf(largest).empty());
  EXPECT_THAT(FaultsOf(largest + "\n"), ElementsAre(" json.document.size"));
}

TEST(Json, depth_is_bounded_at_32) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(FaultsOf(nested(32)).empty());
  const auto faults = FaultsOf(nested(33));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0], ::testing::EndsWith("json.document.depth"));
}

// Runs in a thread whose stack is as small as `ulimit -s 256` allows.
TEST(Json, g06_deep_nesting_needs_no_stack_and_no_memory) {
  std::string arrays = std::string(200'000, '[') + std::string(200'000, ']');
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  struct Job {
    const std::string* documents[2];
    std::vector<std::string> faults[2];
  } job{{&arrays, &objects}, {}};
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const auto start = std::chrono::steady_clock::now();
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                  auto* work = static_cast<Job*>(argument);
                  for (int i = 0; i < 2; ++i) work->faults[i] = FaultsOf(*work->documents[i]);
                  return nullptr;
                },
                &job),
            0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  const auto took = std::chrono::steady_clock::now() - start;
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  for (const auto& faults : job.faults) {
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_THAT(faults[0], ::testing::EndsWith("json.document.depth"));
  }
  EXPECT_LT(took, std::chrono::seconds(1));
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 4 * 1024);  // KiB
}

TEST(Json, a_document_cannot_make_us_hold_more_than_64_faults) {
  std::string bytes = "[";
  for (int i = 0; i < 100'000; ++i) bytes += "-0,";
  bytes += "1]";
  Faults faults;
  EXPECT_FALSE(ParseJson(bytes, faults).has_value());
  EXPECT_EQ(faults.size(), Faults::kMax);
  EXPECT_TRUE(faults.cut());
}

TEST(Utf8, well_formed_is_the_table_of_rfc_3629) {
  for (const char* good : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xe1\x80",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf1\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xfe", "\xff", "\xe1\x80\x41", "\xf1\x80\x80\x41"}) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
  EXPECT_FALSE(IsText(std::string_view("a\0b", 3)));
  EXPECT_TRUE(HasControl("a\x1f"));
  EXPECT_TRUE(HasControl("\x7f"));
  EXPECT_TRUE(HasControl("\xc2\x9f"));
  EXPECT_FALSE(HasControl("\xc2\xa0"));
}

TEST(Document, pointers_are_escaped_by_rfc_6901) {
  EXPECT_EQ(Child("/a", "b~c/d"), "/a/b~0c~1d");
  EXPECT_EQ(Child("", 3), "/3");
}

TEST(Document, unknown_missing_and_wrong_members_are_all_named) {
  Faults faults;
  const auto value = ParseJson(R"({"Name":"x","n":-1,"s":5,"l":{},"d":"ABC","b":0})", faults);
  ASSERT_TRUE(value.has_value());
  Members members(*value, "/top", faults);
  EXPECT_FALSE(members.String("name").has_value());
  EXPECT_FALSE(members.Number("n").has_value());
  EXPECT_FALSE(members.String("s").has_value());
  EXPECT_EQ(members.List("l"), nullptr);
  EXPECT_FALSE(members.Hash("d").has_value());
  EXPECT_FALSE(members.Boolean("b").has_value());
  members.Finish();
  EXPECT_THAT(
      Listed(faults),
      ElementsAre("/top/name json.member.missing", "/top/n json.number.range",
                  "/top/s json.member.type", "/top/l json.member.type", "/top/d json.digest.form",
                  "/top/b json.member.type", "/top/Name json.member.unknown"));
}

}  // namespace
}  // namespace bailiff::policy
