// SPDX-License-Identifier: Apache-2.0
#include "policy/git_name.h"

#include <gtest/gtest.h>

#include "policy/disguise.h"
#include "policy/tree_path.h"

namespace bailiff::policy {
namespace {

constexpr const char* kHex = "0123456789abcdef0123456789abcdef01234567";

TEST(GitName, f04_nothing_is_abbreviated) {
  EXPECT_TRUE(IsCommitName(kHex));
  EXPECT_TRUE(IsCommitName("HEAD"));
  EXPECT_TRUE(IsCommitName("refs/heads/main"));
  for (const char* name :
       {"", "0123456789abcdef0123", "0123456789abcdef0123456789abcdef0123456",
        "0123456789ABCDEF0123456789ABCDEF01234567", "main", "heads/main", "HEAD~1", "HEAD^", "head",
        "@", ":/x", "refs/heads/main^{tree}", "--all", "v1.0"})
    EXPECT_FALSE(IsCommitName(name)) << name;
  EXPECT_FALSE(IsCommitName(std::string(64, 'a')));
}

TEST(GitName, a_full_ref_is_as_git_check_ref_format_says_and_stays_below) {
  for (const char* name : {"refs/heads/a", "refs/x", "refs/heads/a.b/c-d", "refs/tags/v1.0",
                           "refs/heads/\xc3\xa9", "refs/heads/@", "refs/heads/lock"})
    EXPECT_TRUE(IsFullRef(name)) << name;
  for (const char* name :
       {"refs/",     "refs",       "refs//a",   "refs/a/",     "refs/../a",     "refs/a..b",
        "refs/.a",   "refs/a/.b",  "refs/a.",   "refs/a.lock", "refs/a.lock/b", "refs/a b",
        "refs/a\tb", "refs/a\x7f", "refs/a~1",  "refs/a^",     "refs/a:b",      "refs/a?",
        "refs/a*",   "refs/[a",    "refs/a\\b", "refs/a@{1}",  "/refs/a",       "Refs/a"})
    EXPECT_FALSE(IsFullRef(name)) << name;
  // Whole names, and parts as long as a file's name may be.
  const std::string part(199, 'a');
  const std::string whole = "refs/" + part + "/" + part + "/" + part + "/" + part + "/";
  EXPECT_TRUE(IsFullRef(whole + std::string(219, 'a')));
  EXPECT_FALSE(IsFullRef(whole + std::string(220, 'a')));
  EXPECT_TRUE(IsFullRef("refs/" + std::string(255, 'a')));
  EXPECT_FALSE(IsFullRef("refs/" + std::string(256, 'a')));
  EXPECT_FALSE(IsFullRef("refs/" + std::string(256, 'a') + "/b"));
}

TEST(GitName, ids_are_lower_case_digits_and_back) {
  const auto id = ParseGitId(kHex);
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(id->hex(), kHex);
  EXPECT_EQ(RawGitId(id->raw()), id);
  EXPECT_FALSE(ParseGitId(std::string(39, 'a')).has_value());
  EXPECT_FALSE(ParseGitId(std::string(40, 'A')).has_value());
  for (const char* other : {"g", "/", ":", "`", "{", "-", " "}) {
    EXPECT_FALSE(ParseGitId(std::string(39, 'a') + other).has_value()) << other;
    EXPECT_FALSE(ParseGitId(other + std::string(39, 'a')).has_value()) << other;
  }
  EXPECT_FALSE(RawGitId(std::string(32, 'x')).has_value());
}

TEST(GitName, a_revision_is_canonical_and_names_commit_and_tree) {
  GitCommit commit;
  commit.commit = *ParseGitId(kHex);
  commit.tree = *ParseGitId(std::string(40, 'e'));
  const std::string origin = "{\"commit\":\"" + std::string(kHex) + "\",\"git_tree\":\"" +
                             std::string(40, 'e') +
                             "\",\"kind\":\"git\",\"object_format\":\"sha1\"}";
  EXPECT_EQ(GitOrigin(commit), origin);
  EXPECT_EQ(GitRevision(Digest{}, commit),
            "{\"origin\":" + origin +
                ",\"parents\":[],\"schema\":\"bailiff/revision/v1\",\"tree\":\"" +
                std::string(64, '0') + "\"}");
}

TEST(Disguise, b13_each_rule_finds_what_it_is_for) {
  // Alone: only one of the two file systems would take these.
  EXPECT_TRUE(LooksLikeDotGit(".g\xe2\x80\x8fit"));
  EXPECT_TRUE(LooksLikeDotGit(".gi\xe2\x81\xaat"));
  EXPECT_TRUE(LooksLikeDotGit(".git . ."));
  EXPECT_TRUE(LooksLikeDotGit("a\\b\\.GIT:s"));
  // Together.
  EXPECT_TRUE(LooksLikeDotGit(".g\xe2\x80\x8eit. "));
  EXPECT_TRUE(LooksLikeDots("\xe2\x80\xae.."));
  EXPECT_TRUE(LooksLikeDots("..  "));
  EXPECT_FALSE(LooksLikeDots("..."));
  EXPECT_FALSE(LooksLikeDots("\xe2\x80\xae"));
  // One code point beside each range.
  for (const char* name :
       {".g\xe2\x80\x8bit", ".g\xe2\x80\x90it", ".g\xe2\x80\xa9it", ".g\xe2\x80\xafit",
        ".g\xe2\x81\xa9it", ".g\xe2\x81\xb0it", ".g\xef\xbb\xbeit", ".g\xe2\x80"})
    EXPECT_FALSE(LooksLikeDotGit(name)) << name;
}

TEST(Disguise, R10_12_b13_a_reserved_name_in_disguise_is_reserved_on_every_way_in) {
  for (const char* name : {".git.", "git~1", ".agentscm ", ".agentscm-workspace::$DATA",
                           "AGENTSCM-DATA.", "x\\.agentscm", ".\xe2\x80\x8c."}) {
    EXPECT_TRUE(IsReservedName(name)) << name;
    EXPECT_EQ(CheckTreePath(std::string("a/") + name + "/b", TreeNames::kSource),
              SnapshotFault::kReservedName)
        << name;
    EXPECT_EQ(CheckTreePath(name, TreeNames::kImage), SnapshotFault::kNone) << name;
  }
}

}  // namespace
}  // namespace bailiff::policy
