// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/image_record.h"

#include <gtest/gtest.h>

#include "controller/supervisor/intake.h"

namespace bailiff::controller {
namespace {

ImageRecord Record() {
  ImageRecord record;
  record.tree = policy::Hash("tree");
  record.entries = 3;
  record.bytes = 4;
  record.facts = {{"PATH=/bin", "QUOTE=\"\\\n"}, true, false};
  return record;
}

TEST(ImageRecord, it_reads_what_it_writes) {
  const auto text = EncodeImageRecord(Record());
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(
      *text,
      R"({"bytes":4,"entries":3,"environment":["PATH=/bin","QUOTE=\"\\\n"],"health_command":false,)"
      R"("schema":"bailiff/image/v1","tree":")" +
          policy::Hash("tree").hex() + R"(","volumes":true})");
  const auto read = ParseImageRecord(*text, "x");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->tree, Record().tree);
  EXPECT_EQ(read->entries, 3U);
  EXPECT_EQ(read->bytes, 4U);
  EXPECT_EQ(read->facts, Record().facts);
}

TEST(ImageRecord, anything_else_is_damage) {
  const std::string good = *EncodeImageRecord(Record());
  const auto damaged = [](const std::string& text) {
    const auto read = ParseImageRecord(text, "x");
    return !read.ok() && read.error().code == ErrorCode::kImageRecord;
  };
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_TRUE(damaged(good.substr(0, cut))) << cut;
  for (const auto& [from, to] :
       std::map<std::string, std::string>{{"\"volumes\":true", "\"volumes\":1"},
                                          {"\"volumes\":true", "\"volume\":true"},
                                          {"image/v1", "image/v2"},
                                          {"\"bytes\":4", "\"bytes\":-4"},
                                          {"\"entries\":3,", ""},
                                          {"\"PATH=/bin\"", "7"},
                                          {"\"health_command\":false", "\"health_command\":null"},
                                          {"{\"bytes\"", "{\"x\":1,\"bytes\""}}) {
    std::string bent = good;
    bent.replace(bent.find(from), from.size(), to);
    EXPECT_TRUE(damaged(bent)) << from << " → " << to;
  }
}

wire::ImageFacts Facts() {
  wire::ImageFacts message;
  message.add_environment("A=b");
  message.set_volumes(false);
  message.set_health_command(true);
  return message;
}

TEST(ImageFactsIntake, only_what_an_image_may_have_gets_in) {
  wire::ImageFacts good = Facts();
  const auto facts = Accept(good);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(*facts, (policy::ImageFacts{{"A=b"}, false, true}));
  const auto refused = [](wire::ImageFacts message) { return !Accept(message).ok(); };
  wire::ImageFacts message = Facts();
  message.clear_volumes();
  EXPECT_TRUE(refused(message));
  message = Facts();
  message.clear_health_command();
  EXPECT_TRUE(refused(message));
  for (const std::string& entry : {std::string("A=\0b", 4), std::string("A=\xff"),
                                   std::string(policy::kMaxImageEnvironmentBytes, 'x')}) {
    message = Facts();
    message.add_environment(entry);
    EXPECT_TRUE(refused(message));
  }
  message = Facts();
  while (static_cast<std::size_t>(message.environment_size()) < policy::kMaxImageEnvironment)
    message.add_environment("x");
  EXPECT_FALSE(refused(message));
  message.add_environment("x");
  EXPECT_TRUE(refused(message));
}

}  // namespace
}  // namespace bailiff::controller
