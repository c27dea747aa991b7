// SPDX-License-Identifier: Apache-2.0
// Layers over layers: what they replace, what they take away, and what they may not reach.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "snapshotter/importer/image.h"
#include "tests/unit/snapshotter/image_support.h"

namespace bailiff::test {
namespace {

using snapshotter::ApplyLayer;
using snapshotter::Unpacker;

class Text final : public snapshotter::ByteSource {
 public:
  explicit Text(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<std::size_t> Read(char* buffer, std::size_t size) override {
    const std::size_t count = bytes_.copy(buffer, size, at_);
    at_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

using Layers = std::vector<std::vector<TarMember>>;
using Tree = std::map<std::string, std::string>;

class LayersTest : public testing::Test {
 protected:
  LayersTest() : old_umask_(umask(0)) {}
  ~LayersTest() override { umask(old_umask_); }

  Result<void> Apply(const Layers& layers, const TempDirectory& root) {
    Unpacker unpacker(root.fd(), recorder_);
    for (const auto& members : layers) {
      Text text(MakeTar(members));
      BAILIFF_TRY(ApplyLayer(text, unpacker));
    }
    return {};
  }

  Recorder recorder_;
  mode_t old_umask_;
};

const TarMember kFile{'0', "d/f", "lower"};

struct Good {
  const char* name;
  Layers layers;
  Tree tree;
};

const std::vector<Good> kGood = {
    {"a file over a file",
     {{kFile}, {{'0', "d/f", "upper", 0600}}},
     {{"d", "d 0755"}, {"d/f", "f 0600 upper"}}},
    {"a file over a directory",
     {{kFile}, {{'0', "d", "now a file"}}},
     {{"d", "f 0644 now a file"}}},
    {"a directory over a file",
     {{{'0', "d", "x"}}, {{'5', "d", "", 0750}, {'0', "d/g", "y"}}},
     {{"d", "d 0750"}, {"d/g", "f 0644 y"}}},
    {"a directory over a link",
     {{{'2', "d", "/etc"}}, {{'5', "d/", "", 0755}, {'0', "d/g", "y"}}},
     {{"d", "d 0755"}, {"d/g", "f 0644 y"}}},
    {"a link over a directory", {{kFile}, {{'2', "d", "/"}}}, {{"d", "l /"}}},
    {"a link over a link", {{{'2', "l", "a"}}, {{'2', "l", "b"}}}, {{"l", "l b"}}},
    {"a file over a link", {{{'2', "l", "/etc/passwd"}}, {{'0', "l", "x"}}}, {{"l", "f 0644 x"}}},
    {"a directory over a directory keeps what is in it",
     {{kFile}, {{'5', "d", "", 0700}}},
     {{"d", "d 0700"}, {"d/f", "f 0644 lower"}}},
    {"a hard link to a file of a lower layer",
     {{kFile}, {{'1', "e/g", "d/f"}}},
     {{"d", "d 0755"}, {"d/f", "f 0644 lower"}, {"e", "d 0755"}, {"e/g", "f 0644 lower"}}},
    {"one name of a hard link replaced, the other kept",
     {{kFile, {'1', "g", "d/f"}}, {{'0', "d/f", "upper"}}},
     {{"d", "d 0755"}, {"d/f", "f 0644 upper"}, {"g", "f 0644 lower"}}},
    {"a hard link in place of a file",
     {{kFile, {'0', "g", "x"}}, {{'1', "g", "./d/f"}}},
     {{"d", "d 0755"}, {"d/f", "f 0644 lower"}, {"g", "f 0644 lower"}}},
    {"a whiteout of a file",
     {{kFile, {'0', "d/g", "x"}}, {{'0', "d/.wh.f", ""}}},
     {{"d", "d 0755"}, {"d/g", "f 0644 x"}}},
    {"a whiteout of a directory",
     {{kFile, {'0', "g", "x"}}, {{'0', ".wh.d", ""}}},
     {{"g", "f 0644 x"}}},
    {"a whiteout of a link takes the link",
     {{kFile, {'2', "l", "d"}}, {{'0', ".wh.l", ""}}},
     {{"d", "d 0755"}, {"d/f", "f 0644 lower"}}},
    {"a whiteout of nothing",
     {{kFile}, {{'0', ".wh.nothing", ""}, {'0', "no/where/.wh.x", ""}}},
     {{"d", "d 0755"}, {"d/f", "f 0644 lower"}}},
    {"a whiteout and the name again",
     {{kFile}, {{'0', ".wh.d", ""}, {'0', "d/g", "new"}}},
     {{"d", "d 0755"}, {"d/g", "f 0644 new"}}},
    {"the name and then its whiteout",
     {{kFile}, {{'0', "d/g", "new"}, {'0', ".wh.d", ""}}},
     {{"d", "d 0755"}, {"d/g", "f 0644 new"}}},
    {"a whiteout spares what its own layer linked",
     {{kFile}, {{'1', "d/g", "d/f"}, {'0', "d/.wh.f", ""}}},
     {{"d", "d 0755"}, {"d/g", "f 0644 lower"}}},
    {"an opaque directory",
     {{kFile, {'0', "d/s/x", "x"}}, {{'0', "d/.wh..wh..opq", ""}, {'0', "d/g", "new"}}},
     {{"d", "d 0755"}, {"d/g", "f 0644 new"}}},
    {"an opaque directory, said last",
     {{kFile, {'0', "d/s/x", "x"}},
      {{'0', "d/g", "new"}, {'0', "d/s/y", "y"}, {'0', "d/.wh..wh..opq", ""}}},
     {{"d", "d 0755"}, {"d/g", "f 0644 new"}, {"d/s", "d 0755"}, {"d/s/y", "f 0644 y"}}},
    {"the root by each of its names",
     {{{'5', "/", "", 0700}, {'5', "./", "", 0700}, {'5', ".", "", 0700}, {'0', "f", "x"}}},
     {{"f", "f 0644 x"}}},
    {"an opaque root",
     {{kFile}, {{'0', ".wh..wh..opq", ""}, {'0', "g", "new"}}},
     {{"g", "f 0644 new"}}},
    {"a third layer brings back what a second took away",
     {{kFile}, {{'0', "d/.wh.f", ""}}, {{'0', "d/f", "again"}}},
     {{"d", "d 0755"}, {"d/f", "f 0644 again"}}},
    {"a layer twice", {{kFile}, {kFile}}, {{"d", "d 0755"}, {"d/f", "f 0644 lower"}}},
    {"an empty layer between",
     {{kFile}, {}, {{'0', "g", "x"}}},
     {{"d", "d 0755"}, {"d/f", "f 0644 lower"}, {"g", "f 0644 x"}}},
    {"odd names are bytes",
     {{{'0', "a\nb", "1"}, {'0', "\xff\xfe", "2"}, {'0', ".whx", "3"}, {'0', "x.wh.y", "4"}},
      {{'0', ".wh.a\nb", ""}, {'0', ".wh.\xff\xfe", ""}}},
     {{".whx", "f 0644 3"}, {"x.wh.y", "f 0644 4"}}},
};

TEST_F(LayersTest, f01_what_lies_in_a_root_after_its_layers) {
  for (const Good& good : kGood) {
    const TempDirectory root;
    const auto applied = Apply(good.layers, root);
    EXPECT_TRUE(applied.ok()) << good.name << ": " << Why(applied);
    EXPECT_EQ(Listing(root.path()), good.tree) << good.name;
  }
}

struct Bad {
  const char* name;
  Layers layers;
  const char* code;
};

const std::vector<Bad> kBad = {
    {"b04 through a link of a lower layer",
     {{{'2', "a", "/etc"}}, {{'0', "a/cron.d/x", "x"}}},
     "image.entry.through_link"},
    {"b04 through a relative link of a lower layer",
     {{kFile, {'2', "a", "d"}}, {{'0', "a/f", "x"}}},
     "image.entry.through_link"},
    {"b04 a directory became a link, one layer on",
     {{kFile}, {{'2', "d", "/"}, {'0', "d/tmp/pwn", "x"}}},
     "image.entry.through_link"},
    {"b04 a directory became a link, two layers on",
     {{kFile}, {{'2', "d", "/"}}, {{'0', "d/tmp/pwn", "x"}}},
     "image.entry.through_link"},
    {"b04 a file became a parent without saying so",
     {{{'0', "d", "x"}}, {{'0', "d/x", "x"}}},
     "image.entry.through_link"},
    {"b04 hard link to a link of a lower layer",
     {{{'2', "s", "../../../../etc/shadow"}}, {{'1', "h", "s"}}},
     "image.entry.hard_link"},
    {"b04 hard link through a link of a lower layer",
     {{{'2', "s", "/etc"}}, {{'1', "h", "s/passwd"}}},
     "image.entry.hard_link"},
    {"b04 hard link to an absolute name",
     {{kFile}, {{'1', "k", "/etc/passwd"}}},
     "image.entry.hard_link"},
    {"b04 hard link upwards", {{kFile}, {{'1', "k", "../../etc/passwd"}}}, "image.entry.hard_link"},
    {"b04 hard link to what was taken away",
     {{kFile}, {{'0', "d/.wh.f", ""}, {'1', "k", "d/f"}}},
     "image.entry.hard_link"},
    {"b04 hard link to itself", {{kFile}, {{'1', "d/f", "d/f"}}}, "image.entry.hard_link"},
    {"b04 hard link in place of the directory it leads into",
     {{kFile}, {{'1', "d", "d/f"}}},
     "image.entry.hard_link"},
    {"b04 hard link to a whiteout",
     {{kFile}, {{'0', ".wh.x", ""}, {'1', "k", ".wh.x"}}},
     "image.entry.hard_link"},
    {"b04 whiteout of the parent", {{kFile}, {{'0', "d/.wh...", ""}}}, "image.entry.whiteout"},
    {"b04 whiteout of the directory itself",
     {{kFile}, {{'0', "d/.wh..", ""}}},
     "image.entry.whiteout"},
    {"b04 whiteout of no name", {{kFile}, {{'0', "d/.wh.", ""}}}, "image.entry.whiteout"},
    {"b04 whiteout of a whiteout", {{kFile}, {{'0', "d/.wh..wh.f", ""}}}, "image.entry.whiteout"},
    {"b04 other words of AUFS", {{kFile}, {{'0', ".wh..wh.plnk", ""}}}, "image.entry.whiteout"},
    {"b04 whiteout as a directory on the way",
     {{kFile}, {{'0', ".wh.d/f", "x"}}},
     "image.entry.whiteout"},
    {"b04 whiteout that is a directory", {{kFile}, {{'5', "d/.wh.f", ""}}}, "image.entry.whiteout"},
    {"b04 whiteout that is a link", {{kFile}, {{'2', "d/.wh.f", "x"}}}, "image.entry.whiteout"},
    {"b04 whiteout that is a hard link",
     {{kFile}, {{'1', "d/.wh.f", "d/f"}}},
     "image.entry.whiteout"},
    {"b04 whiteout that is a device", {{kFile}, {{'3', "d/.wh.f", ""}}}, "image.entry.whiteout"},
    {"b04 whiteout with data", {{kFile}, {{'0', "d/.wh.f", "x"}}}, "image.entry.whiteout"},
    {"b04 whiteout through a link",
     {{{'2', "a", "/etc"}}, {{'0', "a/.wh.passwd", ""}}},
     "image.entry.through_link"},
    {"b04 opaque through a link",
     {{{'2', "a", "/etc"}}, {{'0', "a/.wh..wh..opq", ""}}},
     "image.entry.through_link"},
    {"b04 whiteout below a file",
     {{{'0', "a", "x"}}, {{'0', "a/.wh.b", ""}}},
     "image.entry.through_link"},
    {"b04 whiteout upwards", {{kFile}, {{'0', "../.wh.x", ""}}}, "image.entry.path"},
    {"b04 whiteout with an absolute name", {{kFile}, {{'0', "/.wh.etc", ""}}}, "image.entry.path"},
    {"b04 the root as a file", {{{'0', ".", "x"}}}, "image.entry.path"},
    {"b04 two slashes", {{{'5', "//", ""}}}, "image.entry.path"},
    {"b04 hard link to the root", {{kFile}, {{'1', "k", "/"}}}, "image.entry.hard_link"},
    {"b04 a name twice in one layer",
     {{kFile}, {{'0', "g", "1"}, {'0', "g", "2"}}},
     "image.entry.conflict"},
    {"b04 a name twice in the first layer", {{kFile, kFile}}, "image.entry.conflict"},
    {"b04 a directory of the same layer becomes a file",
     {{}, {{'0', "d/f", "1"}, {'0', "d", "2"}}},
     "image.entry.conflict"},
    {"b04 a link of the same layer becomes a directory",
     {{}, {{'2', "d", "/"}, {'5', "d", "", 0777}}},
     "image.entry.conflict"},
    {"f09 device in a higher layer", {{kFile}, {{'3', "mem", "", 0666}}}, "image.entry.type"},
    {"f09 overlayfs's own whiteout", {{kFile}, {{'3', "d/f", ""}}}, "image.entry.type"},
    {"f09 FIFO in a higher layer", {{kFile}, {{'6', "p", ""}}}, "image.entry.type"},
};

TEST_F(LayersTest, b04_f09_no_layer_reaches_past_its_root_or_names_a_thing_twice) {
  const TempDirectory canary;
  canary.Write("f", "untouched");
  struct stat before;
  ASSERT_EQ(stat("/etc/passwd", &before), 0);
  for (const Bad& bad : kBad) {
    const TempDirectory root;
    const auto applied = Apply(bad.layers, root);
    EXPECT_EQ(CodeOf(applied), bad.code) << bad.name << ": " << Why(applied);
  }
  EXPECT_EQ(Listing(canary.path()), (Tree{{"f", "f 0644 untouched"}}));
  struct stat after;
  ASSERT_EQ(stat("/etc/passwd", &after), 0);
  EXPECT_EQ(after.st_nlink, before.st_nlink);
  EXPECT_EQ(after.st_ctim.tv_sec, before.st_ctim.tv_sec);
}

TEST_F(LayersTest, b14_f09_bits_and_attributes_go_in_every_layer_and_dev_is_skipped) {
  const TempDirectory root;
  const TarMember setuid{'0', "su", "x", 06755, {{"SCHILY.xattr.security.capability", "\x01"}}};
  const auto applied = Apply({{setuid, {'3', "dev/null", ""}},
                              {setuid, {'0', "dev/.wh.null", ""}, {'5', "tmp", "", 01777}}},
                             root);
  ASSERT_TRUE(applied.ok()) << Why(applied);
  EXPECT_EQ(Listing(root.path()), (Tree{{"su", "f 0755 x"}, {"tmp", "d 0777"}}));
  std::map<policy::SnapshotWarning, int> counts;
  for (const auto& [code, path] : recorder_.warnings) ++counts[code];
  EXPECT_EQ(counts, (std::map<policy::SnapshotWarning, int>{
                        {policy::SnapshotWarning::kSpecialBits, 3},
                        {policy::SnapshotWarning::kExtendedAttributes, 2},
                        {policy::SnapshotWarning::kDeviceEntries, 2}}));
}

TEST_F(LayersTest, a_layer_without_its_end_is_whole_only_at_the_end_of_an_entry) {
  const std::string tar = MakeTar({{'0', "f", "1"}, {'0', "g", "2", 0644, {{"comment", "x"}}}});
  const auto apply = [this](const std::string& bytes) {
    const TempDirectory root;
    Unpacker unpacker(root.fd(), recorder_);
    Text text(bytes);
    const auto applied = ApplyLayer(text, unpacker);
    return applied.ok() ? std::to_string(Listing(root.path()).size()) : CodeOf(applied);
  };
  EXPECT_EQ(apply(tar), "2");
  EXPECT_EQ(apply(tar.substr(0, tar.size() - 512)), "2");
  EXPECT_EQ(apply(tar.substr(0, tar.size() - 1024)), "2");
  EXPECT_EQ(apply(tar.substr(0, 1024)), "1");
  EXPECT_EQ(apply(tar.substr(0, 600)), "1") << "inside the padding";
  EXPECT_EQ(apply(tar.substr(0, 2048)), "image.archive.damaged") << "after an extended header";
  EXPECT_EQ(apply(tar.substr(0, 1600)), "image.archive.damaged") << "inside an extended header";
  EXPECT_EQ(apply(MakeTar({{'0', "f", "12345"}}).substr(0, 515)), "image.archive.damaged")
      << "inside data";
  EXPECT_EQ(apply(tar.substr(0, 300)), "image.archive.damaged") << "inside a header";
}

// 200 layers' worth of the same entries are as much work as an image of so many.
TEST_F(LayersTest, f09_entries_are_counted_over_all_layers) {
  const TempDirectory root;
  Unpacker unpacker(root.fd(), recorder_);
  std::vector<TarMember> members;
  for (int i = 0; i < 20'000; ++i) members.push_back({'0', ".wh." + std::to_string(i), ""});
  const std::string tar = MakeTar(members);
  for (int layer = 0; layer < 10; ++layer) {
    Text text(tar);
    const auto applied = ApplyLayer(text, unpacker);
    ASSERT_TRUE(applied.ok()) << Why(applied);
  }
  Text text(MakeTar({{'0', "one-more", ""}}));
  EXPECT_EQ(CodeOf(ApplyLayer(text, unpacker)), "snapshot.bounds.entries");
}

TEST_F(LayersTest, c07_a_deep_tree_of_a_lower_layer_is_taken_away) {
  std::string deep = "d";
  for (int i = 0; i < 253; ++i) deep += "/d";
  const TempDirectory root;
  const auto applied =
      Apply({{{'0', "x", "x", 0644, {{"path", deep + "/f"}}}}, {{'0', ".wh.d", ""}}}, root);
  EXPECT_TRUE(applied.ok()) << Why(applied);
  EXPECT_EQ(Listing(root.path()), Tree());
}

TEST_F(LayersTest, f09_taking_away_can_be_cancelled) {
  std::vector<TarMember> members;
  for (int i = 0; i < 1000; ++i) members.push_back({'0', "d/" + std::to_string(i), ""});
  const TempDirectory root;
  Unpacker unpacker(root.fd(), recorder_);
  Text lower(MakeTar(members));
  ASSERT_TRUE(ApplyLayer(lower, unpacker).ok());
  recorder_.cancel_at = recorder_.calls + 500;
  Text upper(MakeTar({{'0', ".wh.d", ""}}));
  EXPECT_EQ(CodeOf(ApplyLayer(upper, unpacker)), "run.signal.cancelled");
}

// Bytes of this process in memory.
std::uint64_t Resident() {
  const auto text = ipc::ReadFileAt(AT_FDCWD, "/proc/self/statm", 256);
  return text.ok() ? std::stoull(text->substr(text->find(' ') + 1)) * 4096 : 0;
}

TEST_F(LayersTest, f09_memory_does_not_grow_with_the_image) {
  const TempDirectory layout;
  {
    std::vector<TarMember> members;
    for (int i = 0; i < 100; ++i)
      members.push_back({'0', "f" + std::to_string(i), std::string(1 << 20, static_cast<char>(i))});
    WriteFiles(layout, MadeImage{{{MakeTar(members)}, Gzip(MakeTar({{'0', "g", "x"}}))}}.Layout());
  }
  const std::uint64_t before = Resident();
  ASSERT_NE(before, 0U);
  std::uint64_t most = 0;
  recorder_.on_progress = [&most](std::uint64_t call) {
    if (call % 50 == 0) most = std::max(most, Resident());
  };
  const TempDirectory out;
  const auto image =
      snapshotter::ImportImage({layout.fd(), -1}, out.fd(), policy::ImageFormat::kFound, recorder_);
  ASSERT_TRUE(image.ok()) << Why(image);
  EXPECT_EQ(image->bytes, (100ULL << 20) + 1);
  ASSERT_NE(most, 0U);
#ifndef BAILIFF_SANITIZE  // its allocator keeps what was freed
  EXPECT_LT(most, before + (16ULL << 20));
#endif
}

}  // namespace
}  // namespace bailiff::test
