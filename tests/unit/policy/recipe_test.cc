// SPDX-License-Identifier: Apache-2.0
#include "policy/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fault_list.h"

namespace bailiff::policy {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kZeros =
    "0000000000000000000000000000000000000000000000000000000000000000";

std::vector<std::string> FaultsOf(std::string_view bytes) {
  Faults faults;
  const bool read = ParseRecipe(bytes, faults).has_value();
  EXPECT_EQ(read, faults.empty());
  return Listed(faults);
}

std::vector<std::string> FaultsWith(std::string_view what, std::string_view with) {
  return FaultsOf(Replaced(ExampleRecipe(), what, with));
}

TEST(Recipe, R2_04_R2_05_canonical_bytes_have_the_contract_order_and_their_plain_sha256) {
  Faults faults;
  const auto recipe = ParseRecipe(ExampleRecipe(), faults);
  ASSERT_TRUE(recipe.has_value());
  const std::string zeros(kZeros);
  const std::string wanted =
      R"({"version":1,"image":"sha256:)" + zeros +
      R"(","executable":"/bin/sh","arguments":["-c","make test"],"environment":{"LANG":"C"},"toolchain":")" +
      zeros +
      R"(","limits":{"timeout_ms":30000,"max_output_bytes":65536,"memory_bytes":67108864,)" +
      R"("scratch_bytes":16777216,"pids":64,"cpu_millis":1000}})";
  EXPECT_EQ(CanonicalRecipe(*recipe), wanted);
  // Computed by sha256sum over the line above.
  EXPECT_EQ(RecipeDigest(*recipe).hex(),
            "b96a79c8b9493b363b726738fc07030dd2790d651745c5138830ff817c520fd8");
}

TEST(Recipe, R2_04_order_and_spacing_of_the_document_do_not_change_the_digest) {
  Faults faults;
  const auto recipe = ParseRecipe(ExampleRecipe(), faults);
  const auto other = ParseRecipe(
      R"({"limits":{"cpu_millis":1000,"pids":64,"scratch_bytes":16777216,"memory_bytes":67108864,
          "max_output_bytes":65536,"timeout_ms":30000},
          "toolchain":"0000000000000000000000000000000000000000000000000000000000000000",
          "environment":{"\u004cANG":"C"},"arguments":["\u002dc","make test"],"executable":"\/bin\/sh",
          "image":"sha256:0000000000000000000000000000000000000000000000000000000000000000","version":1})",
      faults);
  ASSERT_TRUE(recipe.has_value() && other.has_value());
  EXPECT_EQ(RecipeDigest(*recipe), RecipeDigest(*other));
  // And each member is bound.
  for (const auto& [what, with] : std::initializer_list<std::pair<const char*, const char*>>{
           {"sha256:0", "sha256:1"},
           {"/bin/sh", "/bin/sg"},
           {"make test", "make tess"},
           {"\"LANG\"", "\"LANH\""},
           {"\"C\"", "\"D\""},
           {"\"toolchain\": \"0", "\"toolchain\": \"1"},
           {"30000", "30001"},
           {"65536", "65537"},
           {"67108864", "67108865"},
           {"16777216", "16777217"},
           {"\"pids\": 64", "\"pids\": 65"},
           {"1000", "1001"}}) {
    const auto changed = ParseRecipe(Replaced(ExampleRecipe(), what, with), faults);
    ASSERT_TRUE(changed.has_value()) << what;
    EXPECT_NE(RecipeDigest(*changed), RecipeDigest(*recipe)) << what;
  }
}

TEST(Recipe, R2_04_environment_keys_are_sorted_by_bytes) {
  CommandRecipe recipe;
  recipe.image = "sha256:" + std::string(kZeros);
  recipe.executable = "/bin/true";
  recipe.environment = {{"b", "1"}, {"_", "2"}, {"A", "\"\n"}, {"B", ""}};
  EXPECT_THAT(CanonicalRecipe(recipe),
              ::testing::HasSubstr(R"("environment":{"A":"\"\n","B":"","_":"2","b":"1"})"));
}

TEST(Recipe, R2_09_environment_digest_is_the_sha256_of_the_object_alone) {
  EXPECT_EQ(EnvironmentDigest({}), Hash("{}"));
  EXPECT_EQ(EnvironmentDigest({{"LANG", "C"}, {"A", "1"}}), Hash(R"({"A":"1","LANG":"C"})"));
}

TEST(Recipe, R2_02_an_image_is_an_id_and_never_a_name) {
  const std::string id = "sha256:" + std::string(kZeros);
  EXPECT_TRUE(IsImageId(id));
  for (const std::string& image :
       {std::string("busybox"), std::string("ubuntu:24.04"), std::string(kZeros), id + "0",
        id.substr(0, id.size() - 1), "SHA256:" + std::string(kZeros),
        "sha512:" + std::string(kZeros), std::string("sha256:../../../../tmp/pwn"), "name@" + id,
        "sha256:" + std::string(63, '0') + "G", "sha256:" + std::string(63, '0') + "A",
        std::string()}) {
    EXPECT_FALSE(IsImageId(image)) << image;
    EXPECT_THAT(FaultsWith(id, image), ElementsAre("/image recipe.image.form")) << image;
  }
}

TEST(Recipe, R2_03_the_executable_is_absolute) {
  EXPECT_THAT(FaultsWith("/bin/sh", "bin/sh"), ElementsAre("/executable path.entry.relative"));
  EXPECT_THAT(FaultsWith("/bin/sh", "/bin/../sh"),
              ElementsAre("/executable path.component.dotdot"));
  EXPECT_THAT(FaultsWith("/bin/sh", ""), ElementsAre("/executable path.entry.empty"));
}

TEST(Recipe, members_that_do_not_belong_are_refused_by_name) {
  EXPECT_THAT(FaultsWith("\"version\": 1", "\"version\": 1, \"network\": true"),
              ElementsAre("/network recipe.network.refused"));
  EXPECT_THAT(FaultsWith("\"version\": 1", "\"version\": 1, \"artifacts\": {\"paths\": []}"),
              ElementsAre("/artifacts recipe.artifacts.refused"));
  EXPECT_THAT(FaultsWith("\"version\": 1", "\"version\": 1, \"Image\": 1"),
              ElementsAre("/Image json.member.unknown"));
  EXPECT_THAT(FaultsWith("\"pids\": 64", "\"pids\": 64, \"swap\": 1"),
              ElementsAre("/limits/swap json.member.unknown"));
  EXPECT_THAT(FaultsWith("\"version\": 1", "\"version\": 2"),
              ElementsAre("/version recipe.version.unknown"));
  EXPECT_THAT(FaultsWith("\"version\": 1,", ""), ElementsAre("/version json.member.missing"));
}

TEST(Recipe, every_member_is_required_and_typed) {
  EXPECT_THAT(FaultsOf("{}"),
              ElementsAre("/version json.member.missing", "/image json.member.missing",
                          "/executable json.member.missing", "/arguments json.member.missing",
                          "/environment json.member.missing", "/toolchain json.member.missing",
                          "/limits json.member.missing"));
  EXPECT_THAT(FaultsOf("[]"), ElementsAre(" json.member.type"));
  EXPECT_THAT(
      FaultsOf(R"({"version":"1","image":1,"executable":[],"arguments":{},"environment":[],)"
               R"("toolchain":1,"limits":7})"),
      ElementsAre("/version json.member.type", "/image json.member.type",
                  "/executable json.member.type", "/arguments json.member.type",
                  "/environment json.member.type", "/toolchain json.member.type",
                  "/limits json.member.type"));
  EXPECT_THAT(FaultsWith("\"-c\"", "7"), ElementsAre("/arguments/0 json.member.type"));
  EXPECT_THAT(FaultsWith("\"C\"", "null"), ElementsAre("/environment/LANG json.member.type"));
  EXPECT_THAT(FaultsWith("\"pids\": 64", "\"pids\": \"64\""),
              ElementsAre("/limits/pids json.member.type"));
  EXPECT_THAT(FaultsWith("\"pids\": 64", "\"pids\": 64.0"),
              ElementsAre("/limits/pids json.number.form"));
  EXPECT_THAT(FaultsWith("\"pids\": 64", "\"pids\": -1"),
              ElementsAre("/limits/pids json.number.range"));
}

TEST(Recipe, all_faults_come_at_once) {
  std::string bytes = Replaced(ExampleRecipe(), "67108864", "8388608");
  bytes = Replaced(bytes, "/bin/sh", "sh");
  bytes = Replaced(bytes, "\"LANG\"", "\"LD_PRELOAD\"");
  bytes = Replaced(bytes, "\"version\": 1", "\"version\": 1, \"version\": 1");
  EXPECT_THAT(FaultsOf(bytes),
              ElementsAre("/version json.member.duplicate", "/executable path.entry.relative",
                          "/environment/LD_PRELOAD recipe.environment.loader",
                          "/limits/memory_bytes recipe.memory.low"));
}

TEST(Recipe, a_refusal_says_what_on_what_why_and_one_fix) {
  Faults faults;
  EXPECT_FALSE(ParseRecipe(Replaced(ExampleRecipe(), "67108864", "8388608"), faults).has_value());
  ASSERT_EQ(faults.size(), 1U);
  const Error& error = faults.list()[0].error;
  const ErrorInfo& info = Info(error.code);
  EXPECT_EQ(std::string(info.what) + " " + error.subject + ": " + error.why + " [" +
                std::string(info.name) + "]",
            "memory 8 MiB: below the smallest bound, 16 MiB [recipe.memory.low]");
  EXPECT_EQ(info.fix, "--memory 16M or more");
}

TEST(Recipe, R2_17_R2_18_R2_19_environment_families_are_refused_each_with_its_code) {
  EXPECT_THAT(FaultsWith("LANG", "LD_AUDIT"),
              ElementsAre("/environment/LD_AUDIT recipe.environment.loader"));
  EXPECT_THAT(FaultsWith("LANG", "BASH_ENV"),
              ElementsAre("/environment/BASH_ENV recipe.environment.shell"));
  EXPECT_THAT(FaultsWith("LANG", "DOCKER_HOST"),
              ElementsAre("/environment/DOCKER_HOST recipe.environment.control"));
  EXPECT_THAT(FaultsWith("LANG", "TMPDIR"),
              ElementsAre("/environment/TMPDIR recipe.environment.profile"));
  EXPECT_THAT(FaultsWith("LANG", "A=B"), ElementsAre("/environment/A=B recipe.environment.name"));
  EXPECT_TRUE(FaultsWith("LANG", "PATH").empty());
}

TEST(Recipe, a_recipe_made_of_flags_is_judged_the_same) {
  CommandRecipe recipe;
  recipe.image = "busybox";
  recipe.executable = "/bin/\xff";
  recipe.arguments = {std::string("a\0b", 3)};
  recipe.environment = {{"A", "\xff"}};
  recipe.limits.pids = 257;
  Faults faults;
  CheckRecipe(recipe, "", faults);
  EXPECT_THAT(Listed(faults),
              ElementsAre("/image recipe.image.form", "/executable json.string.text",
                          "/arguments/0 json.string.text", "/environment/A json.string.text",
                          "/limits/pids recipe.pids.high"));
}

TEST(Recipe, a_stored_recipe_must_be_its_own_canonical_bytes) {
  Faults faults;
  const auto recipe = ParseRecipe(ExampleRecipe(), faults);
  const std::string bytes = CanonicalRecipe(*recipe);
  const auto again = ParseStoredRecipe(bytes);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *recipe);
  EXPECT_FALSE(ParseStoredRecipe(ExampleRecipe()).ok());
  EXPECT_FALSE(ParseStoredRecipe(bytes + "\n").ok());
  EXPECT_FALSE(ParseStoredRecipe(Replaced(bytes, "\"pids\":64", "\"pids\":0")).ok());
}

TEST(Recipe, writable_source_is_the_command_of_the_contract) {
  const Command wrapped = WritableSource({"/usr/bin/make", {"-j2", "a b"}});
  EXPECT_EQ(wrapped.executable, "/bin/sh");
  EXPECT_THAT(wrapped.arguments,
              ElementsAre("-c",
                          "cp -R /source/. /scratch/source && chmod -R u+w /scratch/source && cd "
                          "/scratch/source && exec \"$@\"",
                          "sh", "/usr/bin/make", "-j2", "a b"));
}

}  // namespace
}  // namespace bailiff::policy
