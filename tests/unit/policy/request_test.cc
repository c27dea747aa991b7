// SPDX-License-Identifier: Apache-2.0
#include "policy/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fault_list.h"
#include "policy/ids.h"
#include "policy/jcs.h"
#include "policy/json.h"

namespace bailiff::policy {
namespace {

using ::testing::ElementsAre;

std::string Document() {
  return R"({"attempt_id":"a1","change":{"repository":"0123456789abcdef0123456789abcdef","id":"c1"},)"
         R"("change_version":1,"context_digest":")" +
         std::string(64, 'c') + R"(","revision":")" + std::string(64, 'd') + R"(","recipe":)" +
         ExampleRecipe() + "}";
}

std::vector<std::string> FaultsOf(std::string_view bytes) {
  Faults faults;
  const bool read = ParseRequest(bytes, faults).has_value();
  EXPECT_EQ(read, faults.empty());
  return Listed(faults);
}

std::string CanonicalBytes(std::string_view bytes) {
  Faults faults;
  const auto request = ParseRequest(bytes, faults);
  EXPECT_TRUE(request.has_value()) << faults.ToError().why;
  return *CanonicalRequest(*request);
}

TEST(Request, R14_14_both_kinds_are_read_and_the_kind_follows_from_the_recipe) {
  Faults faults;
  const auto command = ParseRequest(Document(), faults);
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->attempt_id, "a1");
  EXPECT_EQ(command->change, "c1");
  EXPECT_EQ(command->change_version, 1U);
  EXPECT_EQ(KindOf(command->recipe), "command/v1");
  EXPECT_EQ(DigestOf(command->recipe), Hash(CanonicalOf(command->recipe)));
  const auto paths =
      ParseRequest(Replaced(Document(), ExampleRecipe(), ExampleSourcePaths()), faults);
  ASSERT_TRUE(paths.has_value());
  EXPECT_EQ(KindOf(paths->recipe), "source_paths/v1");
}

TEST(Request, faults_are_named_where_they_are) {
  EXPECT_THAT(
      FaultsOf("{}"),
      ElementsAre("/attempt_id json.member.missing", "/change json.member.missing",
                  "/change_version json.member.missing", "/context_digest json.member.missing",
                  "/revision json.member.missing", "/recipe json.member.missing"));
  std::string bytes = Replaced(Document(), "\"a1\"", "\".a\"");
  bytes = Replaced(bytes, "0123456789abcdef0", "0123456789ABCDEF0");
  bytes = Replaced(bytes, "\"change_version\":1", "\"change_version\":0");
  bytes = Replaced(bytes, "\"pids\": 64", "\"pids\": 0");
  EXPECT_THAT(
      FaultsOf(bytes),
      ElementsAre("/attempt_id request.id.form", "/change/repository request.repository.form",
                  "/change_version request.version.zero", "/recipe/limits/pids recipe.pids.low"));
  EXPECT_THAT(FaultsOf(Replaced(Document(), ExampleRecipe(), "{\"version\":1}")),
              ElementsAre("/recipe recipe.kind.unknown"));
  EXPECT_THAT(FaultsOf(Replaced(Document(), "{", "{\"force\":true,")),
              ElementsAre("/force json.member.unknown"));
}

TEST(Request, R9_09_the_same_request_written_differently_is_the_same) {
  const std::string one = CanonicalBytes(Document());
  const std::string two = CanonicalBytes(
      R"({"recipe":)" + ExampleRecipe() + R"(,"revision":")" + std::string(64, 'd') +
      R"(","context_digest":")" + std::string(64, 'c') +
      R"(","change_version":1,"change":{"id":"c1","repository":"0123456789abcdef0123456789abcdef"},)" +
      R"("attempt_id":"\u00611"})" + "\n");
  EXPECT_EQ(one, two);
  EXPECT_TRUE(CheckSameRequest(one, two).ok());
  EXPECT_TRUE(ParseCanonical(one).ok());
}

TEST(Request, R9_09_a_conflict_names_the_first_member_that_differs) {
  const std::string stored = CanonicalBytes(Document());
  const auto conflict = [&](std::string_view what, std::string_view with) {
    const auto result = CheckSameRequest(stored, CanonicalBytes(Replaced(Document(), what, with)));
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(Info(result.error().code).name, "request.attempt.conflict");
    EXPECT_EQ(result.error().subject, "a1");
    return result.error().why.substr(result.error().why.rfind(' ') + 1);
  };
  EXPECT_EQ(conflict("\"c1\"", "\"c2\""), "/change/id");
  EXPECT_EQ(conflict("\"change_version\":1", "\"change_version\":2"), "/change_version");
  EXPECT_EQ(conflict("ccc", "bcc"), "/context_digest");
  EXPECT_EQ(conflict("ddd", "edd"), "/revision");
  EXPECT_EQ(conflict("\"make test\"", "\"make tes\""), "/recipe/arguments/1");
  EXPECT_EQ(conflict("\"-c\", ", "\"-c\", \"-x\", "), "/recipe/arguments/1");
  EXPECT_EQ(conflict("\"make test\"", "\"make test\", \"\""), "/recipe/arguments/2");
  EXPECT_EQ(conflict("\"LANG\": \"C\"", ""), "/recipe/environment/LANG");
  EXPECT_EQ(conflict("\"LANG\": \"C\"", "\"LANG\": \"C\", \"M\": \"\""), "/recipe/environment/M");
  EXPECT_EQ(conflict("\"pids\": 64", "\"pids\": 65"), "/recipe/limits/pids");
}

TEST(Request, R2_06_R2_07_R2_08_the_request_digest_binds_every_member) {
  const ExecutionBinding binding{"a1",         "c1",        1,
                                 Digest{{1}},  Digest{{2}}, 1,
                                 "command/v1", Digest{{3}}, "0123456789abcdef0123456789abcdef",
                                 Digest{{4}},  Digest{{5}}};
  const auto digest = RequestDigest(binding);
  ASSERT_TRUE(digest.ok());
  const std::string bytes =
      R"({"attempt_id":"a1","change":"c1","change_version":1,"context_digest":")" +
      Digest{{1}}.hex() + R"(","environment_digest":")" + Digest{{2}}.hex() +
      R"(","generation":1,"kind":"command/v1","recipe_digest":")" + Digest{{3}}.hex() +
      R"(","repository":"0123456789abcdef0123456789abcdef","revision":")" + Digest{{4}}.hex() +
      R"(","toolchain":")" + Digest{{5}}.hex() + R"("})";
  EXPECT_EQ(*digest, HashDomain("agentscm.execution-request.v1", bytes));

  std::vector<ExecutionBinding> changed(11, binding);
  changed[0].attempt_id = "a2";
  changed[1].change = "c2";
  changed[2].change_version = 2;
  changed[3].context_digest = Digest{{9}};
  changed[4].environment_digest = Digest{{9}};
  changed[5].generation = 3;
  changed[6].kind = "source_paths/v1";
  changed[7].recipe_digest = Digest{{9}};
  changed[8].repository = std::string(32, '0');
  changed[9].revision = Digest{{9}};
  changed[10].toolchain = Digest{{9}};
  for (std::size_t i = 0; i < changed.size(); ++i) {
    EXPECT_NE(*RequestDigest(changed[i]), *digest) << i;
  }
}

TEST(Request, ids_are_safe_as_file_names) {
  EXPECT_TRUE(IsId("a"));
  EXPECT_TRUE(IsId("Z9._-"));
  EXPECT_TRUE(IsId(std::string(64, 'a')));
  EXPECT_FALSE(IsId(std::string(65, 'a')));
  for (const char* bad : {"", ".", "..", ".a", "-a", "_a", "a/b", "a b", "a\n", "\xc3\xa9"}) {
    EXPECT_FALSE(IsId(bad)) << bad;
  }
  EXPECT_TRUE(IsTarget("main"));
  EXPECT_TRUE(IsTarget("release/1.0/x"));
  EXPECT_FALSE(IsTarget("a//b"));
  EXPECT_FALSE(IsTarget("/a"));
  EXPECT_FALSE(IsTarget("a/"));
  EXPECT_FALSE(IsTarget(""));
  EXPECT_TRUE(IsTarget(std::string(63, 'a') + "/" + std::string(64, 'b')));
  EXPECT_FALSE(IsTarget(std::string(64, 'a') + "/" + std::string(64, 'b')));
  EXPECT_TRUE(IsRepository("0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(IsRepository("0123456789abcdef0123456789abcde"));
  EXPECT_FALSE(IsRepository("0123456789ABCDEF0123456789abcdef"));
}

}  // namespace
}  // namespace bailiff::policy
