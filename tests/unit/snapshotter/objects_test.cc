// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/objects.h"

#include <gtest/gtest.h>

#include "tests/unit/snapshotter/support.h"

namespace bailiff::test {
namespace {

using policy::kImageBounds;
using policy::kSourceBounds;
using policy::TreeNames;
using snapshotter::EntryKind;
using snapshotter::ParseTree;
using snapshotter::TreeBuilder;

const policy::Digest kBlob = policy::Hash("");

std::string Entry(char kind, std::uint64_t size, const std::string& path) {
  std::string bytes(1, kind);
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 0xFF);
  bytes += kBlob.raw();
  bytes += static_cast<char>(path.size() >> 8 & 0xFF);
  bytes += static_cast<char>(path.size() & 0xFF);
  return bytes + path;
}
std::string Manifest(const std::string& entries) { return "bailiff.tree.v1\n" + entries; }
std::string Parsed(const std::string& entries) {
  return CodeOf(ParseTree(Manifest(entries), kSourceBounds, TreeNames::kSource));
}

TEST(TreeManifest, is_the_bytes_of_the_contract) {
  TreeBuilder builder(kSourceBounds, TreeNames::kSource);
  ASSERT_TRUE(builder.Add(EntryKind::kLink, 3, kBlob, "b/l").ok());
  ASSERT_TRUE(builder.Add(EntryKind::kExecutable, 0x0102030405, kBlob, "a").ok() == false)
      << "over 64 MiB";
  ASSERT_TRUE(builder.Add(EntryKind::kExecutable, 5, kBlob, "a").ok());
  ASSERT_TRUE(builder.Add(EntryKind::kFile, 0, kBlob, "b.c").ok());
  EXPECT_EQ(builder.entries(), 3U);
  EXPECT_EQ(builder.bytes(), 8U);
  const std::string bytes = builder.Finish();
  EXPECT_EQ(bytes, Manifest(Entry('x', 5, "a") + Entry('f', 0, "b.c") + Entry('l', 3, "b/l")))
      << "'.' sorts before '/'";
  const auto tree = ParseTree(bytes, kSourceBounds, TreeNames::kSource);
  ASSERT_TRUE(tree.ok()) << Why(tree);
  ASSERT_EQ(tree->entries.size(), 3U);
  EXPECT_EQ(tree->entries[2].path, "b/l");
  EXPECT_EQ(tree->entries[2].kind, EntryKind::kLink);
  EXPECT_EQ(tree->entries[2].blob, kBlob);
  EXPECT_EQ(tree->total, 8U);
}

TEST(TreeManifest, an_empty_tree_is_its_magic) {
  EXPECT_EQ(TreeBuilder(kSourceBounds, TreeNames::kSource).Finish(), "bailiff.tree.v1\n");
  EXPECT_EQ(Parsed(""), "");
}

TEST(TreeManifest, every_other_form_is_refused) {
  struct Case {
    const char* name;
    std::string entries;
    const char* code;
  };
  const std::string a = Entry('f', 0, "a");
  for (const Case& item :
       {Case{"cut in its head", a.substr(0, 20), "snapshot.tree.malformed"},
        {"cut in its path", Entry('f', 0, "abc").substr(0, 45), "snapshot.tree.malformed"},
        {"trailing byte", a + "x", "snapshot.tree.malformed"},
        {"unknown kind", Entry('d', 0, "a"), "snapshot.tree.malformed"},
        {"twice", a + a, "snapshot.tree.malformed"},
        {"out of order", Entry('f', 0, "b") + a, "snapshot.tree.malformed"},
        {"file and directory", a + Entry('f', 0, "a/b"), "snapshot.tree.malformed"},
        {"file and directory apart", a + Entry('f', 0, "a.b") + Entry('f', 0, "a/b/c"),
         "snapshot.tree.malformed"},
        {"link and directory", Entry('l', 1, "a/b") + Entry('f', 0, "a/b/c"),
         "snapshot.tree.malformed"},
        {"absolute", Entry('f', 0, "/a"), "snapshot.path.shape"},
        {"upwards", Entry('f', 0, "a/../b"), "snapshot.path.shape"},
        {"dot", Entry('f', 0, "./a"), "snapshot.path.shape"},
        {"empty component", Entry('f', 0, "a//b"), "snapshot.path.shape"},
        {"ends in a slash", Entry('f', 0, "a/"), "snapshot.path.shape"},
        {"empty", Entry('f', 0, ""), "snapshot.path.shape"},
        {"NUL", Entry('f', 0, std::string("a\0b", 3)), "snapshot.path.shape"},
        {"R10.12 reserved", Entry('f', 0, "x/.Git/config"), "snapshot.path.reserved"},
        {"long path", Entry('f', 0, std::string(20 * 205, 'a').replace(204, 1, "/")),
         "snapshot.path.long"},
        {"long component", Entry('f', 0, std::string(256, 'a')), "snapshot.path.component"},
        {"empty link", Entry('l', 0, "a"), "snapshot.link.target"},
        {"long link", Entry('l', 4096, "a"), "snapshot.link.target"},
        {"large file", Entry('f', (64ULL << 20) + 1, "a"), "snapshot.bounds.file"},
        {"size that overflows", Entry('f', ~0ULL, "a"), "snapshot.bounds.file"}}) {
    EXPECT_EQ(Parsed(item.entries), item.code) << item.name;
  }
  EXPECT_EQ(CodeOf(ParseTree("bailiff.tree.v2\n", kSourceBounds, TreeNames::kSource)),
            "snapshot.tree.malformed");
  EXPECT_EQ(CodeOf(ParseTree("", kSourceBounds, TreeNames::kSource)), "snapshot.tree.malformed");
}

TEST(TreeManifest, depth_is_255) {
  std::string path = "d";
  for (int i = 1; i < 255; ++i) path += "/d";
  EXPECT_EQ(Parsed(Entry('f', 0, path)), "");
  EXPECT_EQ(Parsed(Entry('f', 0, path + "/d")), "snapshot.path.deep");
}

TEST(TreeManifest, R3_09_ten_thousand_entries_and_not_one_more) {
  TreeBuilder builder(kSourceBounds, TreeNames::kSource);
  std::string entries;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = std::to_string(100'000 + i);
    ASSERT_TRUE(builder.Add(EntryKind::kFile, 0, kBlob, name).ok());
    entries += Entry('f', 0, name);
  }
  EXPECT_EQ(CodeOf(builder.Add(EntryKind::kFile, 0, kBlob, "zzz")), "snapshot.bounds.entries");
  EXPECT_EQ(Parsed(entries), "");
  EXPECT_EQ(Parsed(entries + Entry('f', 0, "zzz")), "snapshot.bounds.entries");
  EXPECT_EQ(
      CodeOf(ParseTree(Manifest(entries + Entry('f', 0, "zzz")), kImageBounds, TreeNames::kImage)),
      "");
}

TEST(TreeManifest, R3_10_256_MiB_and_not_one_byte_more) {
  TreeBuilder builder(kSourceBounds, TreeNames::kSource);
  std::string entries;
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(builder.Add(EntryKind::kFile, 64ULL << 20, kBlob, name).ok());
    entries += Entry('f', 64ULL << 20, name);
  }
  EXPECT_EQ(CodeOf(builder.Add(EntryKind::kFile, 1, kBlob, "e")), "snapshot.bounds.bytes");
  EXPECT_EQ(Parsed(entries), "");
  EXPECT_EQ(Parsed(entries + Entry('f', 1, "e")), "snapshot.bounds.bytes");
}

TEST(TreeManifest, directories_are_bounded_too) {
  std::string entries;
  const std::string deep = [] {
    std::string path;
    for (int i = 0; i < 250; ++i) path += "/d";
    return path;
  }();
  for (int i = 0; i < 200; ++i) entries += Entry('f', 0, std::to_string(100'000 + i) + deep);
  EXPECT_EQ(Parsed(entries), "snapshot.bounds.entries") << "50,200 directories for 200 files";
}

}  // namespace
}  // namespace bailiff::test
