// SPDX-License-Identifier: Apache-2.0
// Images end to end: a tar → root/ and config.json → tree digest, by the programs as they are
// installed; and a table of hostile tars, none of which may change a byte outside or leave an image
// behind.
#include <archive.h>

#include "tests/unit/snapshotter/data_fixture.h"
#include "tests/unit/snapshotter/image_support.h"

namespace bailiff::test {
namespace {

using controller::ImageInfo;
using controller::ImportImage;
using policy::SnapshotWarning;

class ImageJobs : public DataFixture {
 protected:
  Result<ImageInfo> Import(const std::string& bytes,
                           policy::ImageFormat format = policy::ImageFormat::kRootfs) {
    source_.Write("archive", bytes, 0600);
    const ipc::Fd file(open((source_ / "archive").c_str(), O_RDONLY | O_CLOEXEC));
    return ImportImage(host_, {file.get(), -1, format}, hooks_);
  }
  std::string Root(const ImageInfo& info) const {
    return data_ / ("images/" + info.image.hex() + "/root");
  }
};

const std::vector<TarMember> kSmall = {{'5', "./", "", 0755},
                                       {'5', "./bin/", "", 0755},
                                       {'0', "./bin/sh", "ELF", 0755},
                                       {'1', "./bin/ash", "./bin/sh"},
                                       {'2', "./lib", "usr/lib"},
                                       {'5', "usr/lib/", "", 0555},
                                       {'0', "usr/lib/libc.so", "code", 0644},
                                       {'0', "etc/shadow", "secret", 0640}};

TEST_F(ImageJobs, a_rootfs_becomes_an_image_with_the_mount_points_of_a_cell) {
  const auto image = Import(MakeTar(kSmall));
  ASSERT_TRUE(image.ok()) << Why(image);
  EXPECT_FALSE(image->existed);
  EXPECT_EQ(image->image, policy::Hash(image->config));
  EXPECT_EQ(image->diff_ids, std::vector<policy::Digest>{policy::Hash(MakeTar(kSmall))});
  EXPECT_EQ(ReadAll(data_ / ("images/" + image->image.hex() + "/config.json")), image->config);
  EXPECT_EQ(Listing(Root(*image)),
            (std::map<std::string, std::string>{{"bin", "d 0755"},
                                                {"bin/sh", "f 0755 ELF"},
                                                {"bin/ash", "f 0755 ELF"},
                                                {"lib", "l usr/lib"},
                                                {"usr", "d 0755"},
                                                {"usr/lib", "d 0755"},
                                                {"usr/lib/libc.so", "f 0644 code"},
                                                {"etc", "d 0755"},
                                                {"etc/shadow", "f 0640 secret"},
                                                {"source", "d 0755"},
                                                {"scratch", "d 0755"},
                                                {"proc", "d 0755"},
                                                {"sys", "d 0755"},
                                                {"dev", "d 0755"}}));
  struct stat status;
  ASSERT_EQ(stat((Root(*image) + "/bin/ash").c_str(), &status), 0);
  EXPECT_EQ(status.st_nlink, 2U);
  EXPECT_EQ(status.st_uid, 0U);
  EXPECT_EQ(Staged(), 0U);
}

TEST_F(ImageJobs, one_archive_has_one_id_however_it_is_compressed_and_is_never_replaced) {
  const std::string tar = MakeTar(kSmall);
  const auto first = Import(tar);
  ASSERT_TRUE(first.ok()) << Why(first);
  struct stat before;
  ASSERT_EQ(stat(Root(*first).c_str(), &before), 0);
  for (int (*filter)(archive*) : {archive_write_add_filter_gzip, archive_write_add_filter_zstd,
                                  archive_write_add_filter_xz}) {
    const auto again = Import(Compress(tar, filter));
    ASSERT_TRUE(again.ok()) << Why(again);
    EXPECT_TRUE(again->existed);
    EXPECT_EQ(again->image, first->image);
    EXPECT_EQ(again->record.tree, first->record.tree);
    EXPECT_EQ(again->record.entries, first->record.entries);
    EXPECT_EQ(again->record.bytes, first->record.bytes);
    EXPECT_NE(again->source, first->source);
  }
  struct stat after;
  ASSERT_EQ(stat(Root(*first).c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(ImageJobs, b14_f09_special_bits_attributes_and_dev_are_dropped_and_counted) {
  const auto image = Import(
      MakeTar({{'0', "bin/su", "x", 06755},
               {'5', "tmp", "", 01777},
               {'0', "bin/ping", "x", 0755, {{"SCHILY.xattr.security.capability", "\x01\x02"}}},
               {'3', "dev/null", "", 0666},
               {'0', "dev/x/y", "data", 0644}}));
  ASSERT_TRUE(image.ok()) << Why(image);
  const auto root = Listing(Root(*image));
  EXPECT_EQ(root.at("bin/su"), "f 0755 x");
  EXPECT_EQ(root.at("tmp"), "d 0777");
  EXPECT_EQ(root.at("dev"), "d 0755");
  EXPECT_EQ(root.count("dev/x"), 0U);
  std::map<SnapshotWarning, int> counts;
  for (const auto& warning : image->warnings) ++counts[warning.code];
  EXPECT_EQ(counts, (std::map<SnapshotWarning, int>{{SnapshotWarning::kSpecialBits, 2},
                                                    {SnapshotWarning::kExtendedAttributes, 1},
                                                    {SnapshotWarning::kDeviceEntries, 2}}));
}

TEST_F(ImageJobs, names_of_every_kind_of_header_are_bytes) {
  const std::string deep =
      std::string(90, 'a') + "/" + std::string(90, 'b') + "/" + std::string(90, 'c');
  const auto image = Import(MakeTar(
      {{'0', "short", "1", 0644, {{"path", "F\xc5\x91tan\xc3\xbas\xc3\xadtv\xc3\xa1ny.crt"}}},
       {'0', "short", "2", 0644, {{"path", "latin-\xe9"}}},
       {'L', "././@LongLink", deep + std::string(1, '\0')},
       {'0', "cut", "3"},
       {'K', "././@LongLink", deep + std::string(1, '\0')},
       {'2', "link", "cut"}}));
  ASSERT_TRUE(image.ok()) << Why(image);
  const auto root = Listing(Root(*image));
  EXPECT_EQ(root.at("F\xc5\x91tan\xc3\xbas\xc3\xadtv\xc3\xa1ny.crt"), "f 0644 1");
  EXPECT_EQ(root.at("latin-\xe9"), "f 0644 2");
  EXPECT_EQ(root.at(deep), "f 0644 3");
  EXPECT_EQ(root.at("link"), "l " + deep);
}

struct Hostile {
  const char* name;
  std::string tar;
  const char* code;
};

std::vector<Hostile> HostileTars() {
  const TarMember file{'0', "f", "data"};
  const std::string good = MakeTar({file});
  const std::string gz = Compress(good, archive_write_add_filter_gzip);
  std::string checksum = good;
  checksum[0] = 'g';
  std::string negative(12, '\xff');
  std::string exbibytes =
      std::string("\x80\0\0\0", 4) + std::string("\x7f\xff\xff\xff\xff\xff\xff\xff", 8);
  std::vector<Hostile> tars = {
      {"b04 write through a planted link", MakeTar({{'2', "a", "/etc"}, {'0', "a/cron.d/x", "x"}}),
       "image.entry.through_link"},
      {"b04 write through a planted relative link",
       MakeTar({{'5', "d", "", 0755}, {'2', "a", "d"}, {'0', "a/x", "x"}}),
       "image.entry.through_link"},
      {"b04 hard link to a link", MakeTar({{'2', "s", "../../../../etc/shadow"}, {'1', "h", "s"}}),
       "image.entry.hard_link"},
      {"b04 hard link through a link", MakeTar({{'2', "s", "/etc"}, {'1', "h", "s/passwd"}}),
       "image.entry.hard_link"},
      {"b04 hard link to an absolute name", MakeTar({file, {'1', "k", "/etc/passwd"}}),
       "image.entry.hard_link"},
      {"b04 hard link upwards", MakeTar({file, {'1', "k2", "../../etc/passwd"}}),
       "image.entry.hard_link"},
      {"b04 hard link to a directory", MakeTar({{'5', "d", "", 0755}, {'1', "k", "d"}}),
       "image.entry.hard_link"},
      {"b04 hard link to what comes later", MakeTar({{'1', "k", "f"}, file}),
       "image.entry.hard_link"},
      {"b04 directory becomes a link",
       MakeTar({{'5', "d", "", 0755}, {'2', "d", "/"}, {'0', "d/tmp/pwn", "x"}}),
       "image.entry.conflict"},
      {"b04 link becomes a directory", MakeTar({{'2', "d", "/"}, {'5', "d", "", 0777}}),
       "image.entry.conflict"},
      {"b04 file becomes a directory", MakeTar({file, {'5', "f", "", 0777}}),
       "image.entry.conflict"},
      {"b04 file as a parent", MakeTar({file, {'0', "f/x", "x"}}), "image.entry.through_link"},
      {"b04 the same name twice", MakeTar({file, file}), "image.entry.conflict"},
      {"b04 upwards", MakeTar({{'0', "../x", "x"}}), "image.entry.path"},
      {"b04 absolute", MakeTar({{'0', "/abs", "x"}}), "image.entry.path"},
      {"b04 upwards inside", MakeTar({{'0', "a//../../x", "x"}}), "image.entry.path"},
      {"b04 dot inside", MakeTar({{'0', "a/./x", "x"}}), "image.entry.path"},
      {"b04 no name", MakeTar({{'0', "", "x"}}), "image.entry.path"},
      {"b04 NUL in a pax name",
       MakeTar({{'0', "x", "x", 0644, {{"path", std::string("a\0b", 3)}}}}), "image.entry.path"},
      {"b04 NUL in a name", MakeTar({{'0', std::string("a\0b", 3), "x"}}), "image.entry.path"},
      {"b04 the root as a file", MakeTar({{'0', ".", "x"}}), "image.entry.path"},
      {"f09 character device", MakeTar({file, {'3', "mem", "", 0666}}), "image.entry.type"},
      {"f09 block device", MakeTar({file, {'4', "sda", "", 0666}}), "image.entry.type"},
      {"f09 FIFO", MakeTar({file, {'6', "pipe", "", 0666}}), "image.entry.type"},
      {"f09 8 EiB by base 256", MakeTar({{'0', "f", "", 0644, {}, exbibytes}}),
       "snapshot.bounds.file"},
      {"f09 2 GiB", MakeTar({{'0', "f", "", 0644, {}, "20000000000"}}), "snapshot.bounds.file"},
      {"f09 negative size", MakeTar({{'0', "f", "", 0644, {}, negative}}), "image.archive.damaged"},
      {"f09 size that is no number", MakeTar({{'0', "f", "", 0644, {}, "12x"}}),
       "image.archive.damaged"},
      {"f09 pax size that is no number", MakeTar({{'0', "f", "", 0644, {{"size", "1e9"}}}}),
       "image.archive.damaged"},
      {"f09 pax size too large for any number",
       MakeTar({{'0', "f", "", 0644, {{"size", "99999999999999999999"}}}}),
       "image.archive.damaged"},
      {"f09 pax header of 512 MiB", MakeTar({{'x', "p", "", 0644, {}, "04000000000"}}),
       "snapshot.path.long"},
      {"f09 long name of 1 MiB", MakeTar({{'L', "l", std::string(1 << 20, 'a')}, file}),
       "snapshot.path.long"},
      {"f09 path of 5000 bytes",
       MakeTar({{'0',
                 "x",
                 "",
                 0644,
                 {{"path", std::string(2500, 'a') + "/" + std::string(2499, 'b')}}}}),
       "snapshot.path.long"},
      {"f09 component of 256 bytes",
       MakeTar({{'0', "x", "", 0644, {{"path", std::string(256, 'a')}}}}),
       "snapshot.path.component"},
      {"f09 sparse, GNU", MakeTar({{'S', "f", ""}}), "image.archive.format"},
      {"f09 sparse, pax", MakeTar({{'0', "f", "x", 0644, {{"GNU.sparse.major", "1"}}}}),
       "image.archive.format"},
      {"f09 multi-volume", MakeTar({{'M', "f", ""}}), "image.archive.format"},
      {"f09 global header that renames", MakeTar({{'g', "g", "13 path=../x\n"}, file}),
       "image.archive.format"},
      {"f09 link with data", MakeTar({{'2', "l", "t", 0777, {}, "00000001000"}, file}),
       "image.archive.format"},
      {"f09 empty link target", MakeTar({{'2', "l", ""}}), "snapshot.link.target"},
      {"f09 gzip of gzip", Compress(gz, archive_write_add_filter_gzip), "image.archive.format"},
      {"f09 a compression that is not on the list", "BZh91AY&SY" + std::string(1000, 'b'),
       "image.archive.format"},
      {"f09 concatenated members", gz + gz, "image.archive.damaged"},
      {"f09 bomb",
       Compress(MakeTar({{'0', "zeros", std::string(64 << 20, '\0')}}),
                archive_write_add_filter_gzip),
       "image.bounds.expansion"},
      {"no end", good.substr(0, good.size() - 1024), "image.archive.damaged"},
      {"cut inside data", good.substr(0, 700), "image.archive.damaged"},
      {"cut inside a header", good.substr(0, 300), "image.archive.damaged"},
      {"cut compression", gz.substr(0, gz.size() / 2), "image.archive.damaged"},
      {"data after the end", good + "x" + std::string(511, '\0'), "image.archive.damaged"},
      {"wrong checksum", checksum, "image.archive.format"},
      {"not a tar", std::string(4096, 'x'), "image.archive.format"},
      {"an empty file", "", "image.archive.empty"},
      {"an empty archive", std::string(10240, '\0'), "image.archive.empty"},
      {"only a directory", MakeTar({{'5', "d", "", 0755}}), "image.archive.empty"},
      {"pax record without a length", MakeTar({{'x', "p", "path=x\n"}, file}),
       "image.archive.damaged"},
      {"pax record longer than its header", MakeTar({{'x', "p", "99 path=x\n"}, file}),
       "image.archive.damaged"},
      {"pax record without a newline", MakeTar({{'x', "p", "9 path=xx"}, file}),
       "image.archive.damaged"},
      {"pax record without an equals sign", MakeTar({{'x', "p", "8 pathx\n"}, file}),
       "image.archive.damaged"},
      {"pax record without a blank", MakeTar({{'x', "p", "12"}, file}), "image.archive.damaged"},
      {"bad mode", MakeTar({file, {'0', "g", "x", 0644}}).replace(1024 + 100, 7, "zzzzzzz"),
       "image.archive.format"},
  };
  for (const char* point : {"source", "scratch", "proc", "sys", "dev"}) {
    tars.push_back({"mount point as a link", MakeTar({file, {'2', point, "/tmp"}}),
                    "image.mount_point.taken"});
    tars.push_back(
        {"mount point as a file", MakeTar({{'0', point, "x"}}), "image.mount_point.taken"});
  }
  std::string deep = "d";
  for (int i = 0; i < 255; ++i) deep += "/d";
  tars.push_back(
      {"c07 256 levels", MakeTar({{'0', "x", "", 0644, {{"path", deep}}}}), "snapshot.path.deep"});
  return tars;
}

TEST_F(ImageJobs, b04_f09_no_hostile_archive_becomes_an_image_or_touches_anything_outside) {
  TempDirectory canary;
  canary.Write("passwd", "root");
  const auto canaries = Listing(canary.path());
  struct stat passwd;
  ASSERT_EQ(stat("/etc/passwd", &passwd), 0);
  const auto links = passwd.st_nlink;
  for (const Hostile& hostile : HostileTars()) {
    const auto refused = Import(hostile.tar);
    EXPECT_EQ(CodeOf(refused), hostile.code) << hostile.name << ": " << Why(refused);
    EXPECT_TRUE(Listing(data_ / "images").empty()) << hostile.name;
    EXPECT_EQ(Staged(), 0U) << hostile.name;
  }
  EXPECT_EQ(Listing(canary.path()), canaries);
  ASSERT_EQ(stat("/etc/passwd", &passwd), 0);
  EXPECT_EQ(passwd.st_nlink, links);
  const auto good = Import(MakeTar(kSmall));
  EXPECT_TRUE(good.ok()) << "a good image after all that: " << Why(good);
}

TEST_F(ImageJobs, f09_cancelling_in_the_middle_removes_what_was_unpacked) {
  std::vector<TarMember> members;
  for (int i = 0; i < 20000; ++i) members.push_back({'0', "f" + std::to_string(i), "x"});
  bool unpacking = false;
  hooks_.progress = [&](std::uint64_t entries, std::uint64_t) { unpacking = entries > 0; };
  hooks_.cancelled = [&] { return unpacking; };
  EXPECT_EQ(CodeOf(Import(MakeTar(members))), "run.signal.cancelled");
  EXPECT_TRUE(unpacking);
  EXPECT_TRUE(Listing(data_ / "images").empty());
  EXPECT_EQ(Staged(), 0U);
}

TEST_F(ImageJobs, an_archive_that_is_no_regular_file_is_refused) {
  EXPECT_EQ(CodeOf(ImportImage(host_, {source_.fd(), -1}, hooks_)), "image.archive.file");
}

}  // namespace
}  // namespace bailiff::test
