// SPDX-License-Identifier: Apache-2.0
#include "policy/jcs.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "policy/json.h"

namespace bailiff::policy {
namespace {

std::string Written(const Value& value) {
  auto bytes = Canonical(value);
  return bytes.ok() ? *bytes : "error " + std::string(Info(bytes.error().code).name);
}

TEST(Jcs, members_are_sorted_by_utf16_units) {
  // RFC 8785, 3.2.3: the smiley (a surrogate pair, D83D) sorts before U+FB33, though not as bytes.
  Value value = Value::MakeObject();
  value
      .Set("\xef\xac\xb3", 1)      // U+FB33
      .Set("\xf0\x9f\x98\x80", 2)  // U+1F600
      .Set("\xe2\x82\xac", 3)      // U+20AC
      .Set("\r", 4)
      .Set("1", 5)
      .Set("\xc2\x80", 6)
      .Set("\xc3\xb6", 7);
  EXPECT_EQ(Written(value),
            "{\"\\r\":4,\"1\":5,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":3,"
            "\"\xf0\x9f\x98\x80\":2,\"\xef\xac\xb3\":1}");
}

TEST(Jcs, strings_are_escaped_as_rfc_8785_says) {
  EXPECT_EQ(Written(Value("\xe2\x82\xac$\x0f\nA'B\"\\\"/\b\t\f\r\x7f")),
            "\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\"/\\b\\t\\f\\r\x7f\"");
}

TEST(Jcs, nothing_is_written_that_would_not_be_read) {
  EXPECT_EQ(Written(Value()), "error json.member.type");
  EXPECT_EQ(Written(Value("\xff")), "error json.string.text");
  EXPECT_EQ(Written(Value(std::string("\0", 1))), "error json.string.text");
  EXPECT_EQ(Written(Value(9007199254740991)), "9007199254740991");
  EXPECT_EQ(Written(Value(9007199254740992)), "error json.number.range");
  EXPECT_EQ(Written(Value(-9007199254740992)), "error json.number.range");
  EXPECT_EQ(Written(Value(18446744073709551615U)), "error json.number.range");
  Value bad_name = Value::MakeObject();
  bad_name.Set("\xff", 1);
  EXPECT_EQ(Written(bad_name), "error json.string.text");
  Value twice = Value::MakeObject();
  twice.object()->push_back({"a", Value(1)});
  twice.object()->push_back({"a", Value(2)});
  EXPECT_EQ(Written(twice), "error json.member.duplicate");
  Value deep = Value::MakeArray();
  for (int i = 0; i < 31; ++i) deep = Value::MakeArray().Append(deep);
  EXPECT_EQ(Written(deep), std::string(32, '[') + std::string(32, ']'));
  EXPECT_EQ(Written(Value::MakeArray().Append(deep)), "error json.document.depth");
  EXPECT_EQ(Written(Value::MakeObject().Set("a", deep)), "error json.document.depth");
  Value objects = Value::MakeObject();
  for (int i = 0; i < 31; ++i) objects = Value::MakeObject().Set("a", objects);
  EXPECT_EQ(Written(objects).substr(0, 6), "{\"a\":{");
  EXPECT_EQ(Written(Value::MakeObject().Set("a", objects)), "error json.document.depth");
}

TEST(Jcs, set_replaces_and_set_if_leaves_out) {
  Value value = Value::MakeObject();
  value.Set("a", 1).Set("a", 2).SetIf("b", std::optional<int>()).SetIf("c", std::optional<int>(3));
  EXPECT_EQ(Written(value), "{\"a\":2,\"c\":3}");
}

Value Random(std::mt19937& random, int depth) {
  switch (random() % (depth > 4 ? 3U : 5U)) {
    case 0:
      return Value(random() % 2 == 0);
    case 1:
      return Value(static_cast<std::int64_t>(random()) * (random() % 2 == 0 ? 1 : -1));
    case 2: {
      const char* const pieces[] = {"a",    "\"",       "\\",           "\n",
                                    "\x01", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
      std::string text;
      for (auto i = random() % 8; i > 0; --i) text += pieces[random() % 8];
      return Value(text);
    }
    case 3: {
      Value list = Value::MakeArray();
      for (auto i = random() % 5; i > 0; --i) list.Append(Random(random, depth + 1));
      return list;
    }
    default: {
      Value object = Value::MakeObject();
      for (auto i = random() % 5; i > 0; --i) {
        const char* const names[] = {"k", "\xc3\xa9", "\xef\xac\xb3", "\xf0\x9f\x98\x80"};
        object.Set(names[random() % 4] + std::to_string(random() % 9), Random(random, depth + 1));
      }
      return object;
    }
  }
}

TEST(Jcs, property_canonical_bytes_read_back_to_themselves) {
  std::mt19937 random(8785);  // NOLINT(cert-msc51-cpp): the same values every run
  for (int i = 0; i < 3000; ++i) {
    const Value value = Random(random, 0);
    const auto bytes = Canonical(value);
    ASSERT_TRUE(bytes.ok());
    const auto again = ParseCanonical(*bytes);
    ASSERT_TRUE(again.ok()) << *bytes << ": " << again.error().why;
    EXPECT_EQ(Written(*again), *bytes);
  }
}

TEST(Jcs, R9_19_bytes_that_are_not_their_own_canonical_form_are_refused) {
  EXPECT_TRUE(ParseCanonical(R"({"a":1,"b":[2]})").ok());
  for (const char* other :
       {R"({"b":1,"a":2})", R"({"a": 1})", "{\"a\":1}\n", " {}", R"({"a":"\u0041"})",
        R"({"a":"\/"})", R"({"a":"\u000A"})", R"({"a":"\u000a"})", R"({"a":1,"a":1})"}) {
    EXPECT_FALSE(ParseCanonical(other).ok()) << other;
  }
}

}  // namespace
}  // namespace bailiff::policy
