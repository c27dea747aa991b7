// SPDX-License-Identifier: Apache-2.0
// Images bent in one place, and archives around good ones, none of which may leave an image behind
// or touch anything outside.
#include <archive.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/unit/snapshotter/oci_fixture.h"

namespace bailiff::test {
namespace {

using OciHostile = OciFixture;

struct Hostile {
  const char* name;
  Files files;
  const char* code;
};

// A good image in which `bend` changes one file after the rest was computed from it.
template <class Bend>
Files Bent(Bend bend) {
  Files files = MadeImage{{Gzip(MakeTar({{'0', "f", "1"}}))}}.Layout();
  bend(files);
  return files;
}

// An image of one manifest, given as text: blobs get the digests they have.
Files WithManifest(const std::string& manifest, const Files& more) {
  Files files = more;
  files["oci-layout"] = R"({"imageLayoutVersion":"1.0.0"})";
  files["index.json"] = IndexOf({DescriptorOf("manifest.v1+json", manifest)});
  files[Blob(manifest)] = manifest;
  return files;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::vector<Hostile> HostileImages() {
  const std::string tar = MakeTar({{'0', "f", "1"}});
  const MadeImage made{{Gzip(tar)}};
  const std::string stored = made.layers[0].stored;
  const std::string manifest = made.Manifest();
  const Files good = made.Layout();
  const auto rewritten = [&](const std::string& from, const std::string& to) {
    return WithManifest(Replaced(manifest, from, to), good);
  };
  const auto image = [](std::vector<Layer> layers) {
    return MadeImage{std::move(layers)}.Layout();
  };
  const auto media = [](Layer layer, const std::string& type) {
    layer.media = type;
    return layer;
  };
  const std::string gz = Compress(stored, archive_write_add_filter_gzip);
  const std::string zeros = MakeTar({{'0', "zeros", std::string(64 << 20, '\0')}});
  const std::string stray = MakeTar({{'0', "g", "2"}});
  MadeImage wrong_diff = made;
  wrong_diff.layers[0].tar = stray;
  std::string loop =
      R"({"schemaVersion":2,"manifests":[)" + DescriptorOf("index.v1+json", "itself") + "]}";
  Files looped = good;
  looped["index.json"] = loop;
  looped[Blob("itself")] = loop;
  Files deep = good;
  std::string index = IndexOf({DescriptorOf("manifest.v1+json", manifest)});
  for (int level = 0; level < 6; ++level) {
    deep[Blob(index)] = index;
    index = IndexOf({DescriptorOf("index.v1+json", index)});
  }
  deep["index.json"] = index;
  Files wide = good;
  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) {
    const std::string below = Replaced(made.Index(), "{", R"({"x":)" + std::to_string(i) + ",");
    wide[Blob(below)] = below;
    many.push_back(DescriptorOf("index.v1+json", below));
  }
  wide["index.json"] = IndexOf(many);
  std::vector<Hostile> images = {
      {"b09 a layer's bytes changed", Bent([&](Files& f) { f.at(Blob(stored))[20] ^= 1; }),
       "image.digest.mismatch"},
      {"b09 a layer cut short", Bent([&](Files& f) { f.at(Blob(stored)).pop_back(); }),
       "image.digest.mismatch"},
      {"b09 a layer longer than said", Bent([&](Files& f) { f.at(Blob(stored)) += "x"; }),
       "image.digest.mismatch"},
      {"b09 a configuration changed", Bent([&](Files& f) { f.at(Blob(made.Config()))[3] ^= 1; }),
       "image.digest.mismatch"},
      {"b09 a manifest changed", Bent([&](Files& f) { f.at(Blob(manifest)).back() = ' '; }),
       "image.digest.mismatch"},
      {"b09 the digest of another file of the image", rewritten(Sha(stored), Sha(made.Config())),
       "image.digest.mismatch"},
      {"b09 a digest that is a path",
       rewritten("sha256:" + Sha(stored), "sha256:../../../../tmp/pwn"),
       "image.document.malformed"},
      {"b09 a wrong size of a layer",
       rewritten("\"size\":" + std::to_string(stored.size()), "\"size\":1"),
       "image.digest.mismatch"},
      {"b09 a wrong size of the configuration",
       rewritten("\"size\":" + std::to_string(made.Config().size()), "\"size\":1"),
       "image.digest.mismatch"},
      {"b09 a negative size", rewritten("\"size\":" + std::to_string(stored.size()), "\"size\":-1"),
       "image.document.malformed"},
      {"b09 2^63",
       rewritten("\"size\":" + std::to_string(stored.size()), "\"size\":9223372036854775808"),
       "image.document.malformed"},
      {"b09 a diff_id of other bytes",
       [&] {
         MadeImage lying = wrong_diff;
         lying.layers[0].stored = stored;
         return lying.Layout();
       }(),
       "image.digest.mismatch"},
      {"b09 a layer that is not there", Bent([&](Files& f) { f.erase(Blob(stored)); }),
       "image.file.missing"},
      {"b09 a configuration that is not there",
       Bent([&](Files& f) { f.erase(Blob(made.Config())); }), "image.file.missing"},
      {"b09 a manifest that is not there", Bent([&](Files& f) { f.erase(Blob(manifest)); }),
       "image.file.missing"},
      {"b09 more diff_ids than layers",
       [&] {
         MadeImage two{{Gzip(tar), Gzip(stray)}};
         return WithManifest(
             Replaced(two.Manifest(), "," + DescriptorOf("layer.v1.tar+gzip", two.layers[1].stored),
                      ""),
             two.Layout());
       }(),
       "image.document.malformed"},
      {"b09 gzip that is said to be plain", image({media(Gzip(tar), "layer.v1.tar")}),
       "image.media_type.refused"},
      {"b09 plain that is said to be gzip", image({media({tar}, "layer.v1.tar+gzip")}),
       "image.media_type.refused"},
      {"b09 zstd that is said to be gzip", image({media(Zstd(tar), "layer.v1.tar+gzip")}),
       "image.media_type.refused"},
      {"a layer under xz",
       image({{tar, Compress(tar, archive_write_add_filter_xz), "layer.v1.tar"}}),
       "image.media_type.refused"},
      {"a layer of another kind", image({media(Gzip(tar), "layer.nondistributable.v1.tar+gzip")}),
       "image.media_type.refused"},
      {"another layout version",
       Bent([](Files& f) { f["oci-layout"] = R"({"imageLayoutVersion":"2.0.0"})"; }),
       "image.document.malformed"},
      {"g06 a manifest of 2 MiB",
       WithManifest(Replaced(manifest, "{", R"({"x":")" + std::string(2 << 20, 'x') + "\","), good),
       "image.document.malformed"},
      {"g06 a deep index", Bent([](Files& f) { f["index.json"] = std::string(200'000, '['); }),
       "image.document.malformed"},
      {"b09 an index that names itself", looped, "image.digest.mismatch"},
      {"b09 indexes below indexes", deep, "image.document.malformed"},
      {"b09 a hundred indexes", wide, "image.document.malformed"},
      {"f09 a bomb under gzip", image({Gzip(zeros)}), "image.bounds.expansion"},
      {"f09 a bomb under zstd", image({Zstd(zeros)}), "image.bounds.expansion"},
      {"f09 a bomb in the second layer", image({Gzip(tar), Zstd(zeros)}), "image.bounds.expansion"},
      {"f09 gzip of gzip", image({{tar, gz, "layer.v1.tar+gzip"}}), "image.archive.format"},
      {"f09 concatenated members",
       [&] {
         const std::string twice = stored + stored;
         return image({{tar + tar, twice, "layer.v1.tar+gzip"}});
       }(),
       "image.archive.damaged"},
      {"f09 cut compression",
       [&] {
         const std::string cut = stored.substr(0, stored.size() - 12);
         return image({{tar, cut, "layer.v1.tar+gzip"}});
       }(),
       "image.archive.damaged"},
      {"f09 a layer without bytes",
       WithManifest(Replaced(manifest, DescriptorOf("layer.v1.tar+gzip", stored),
                             DescriptorOf("layer.v1.tar+gzip", "")),
                    [&] {
                      Files f = good;
                      f[Blob("")] = "";
                      return f;
                    }()),
       "image.archive.empty"},
      {"f09 a layer that is no tar", image({{std::string(4096, 'x')}}), "image.archive.format"},
      {"f09 sparse in a layer",
       image({{MakeTar({{'0', "f", "x", 0644, {{"GNU.sparse.major", "1"}}}})}}),
       "image.archive.format"},
      {"f09 8 EiB in a layer",
       image({{MakeTar({{'0',
                         "f",
                         "",
                         0644,
                         {},
                         std::string("\x80\0\0\0", 4) +
                             std::string("\x7f\xff\xff\xff\xff\xff\xff\xff", 8)}})}}),
       "snapshot.bounds.file"},
      {"f09 a device in the second layer",
       image({Gzip(tar), Gzip(MakeTar({{'3', "mem", "", 0666}}))}), "image.entry.type"},
      {"only whiteouts that take nothing but directories",
       image({{MakeTar({{'5', "d", "", 0755}})}}), "image.archive.empty"},
      {"b04 a hard link to what a lower layer holds through a link",
       image({Gzip(MakeTar({{'2', "s", "/etc"}, {'0', "f", "1"}})),
              Gzip(MakeTar({{'1', "h", "s/passwd"}}))}),
       "image.entry.hard_link"},
      {"b04 a whiteout through a link",
       image({Gzip(MakeTar({{'2', "a", "/etc"}, {'0', "f", "1"}})),
              Gzip(MakeTar({{'0', "a/.wh.passwd", ""}}))}),
       "image.entry.through_link"},
      {"b04 the mount point taken by a higher layer",
       image({Gzip(tar), Gzip(MakeTar({{'2', "proc", "/etc"}}))}), "image.mount_point.taken"},
  };
  return images;
}

TEST_F(OciHostile, b04_b09_f09_g06_no_hostile_image_is_taken_or_touches_anything_outside) {
  struct stat before;
  ASSERT_EQ(stat("/etc/passwd", &before), 0);
  for (const Hostile& hostile : HostileImages()) {
    const auto from_directory = ImportLayout(hostile.files);
    EXPECT_EQ(CodeOf(from_directory), hostile.code) << hostile.name << ": " << Why(from_directory);
    NothingLeft(hostile.name);
    const auto from_tar = ImportFile(ArchiveOf(hostile.files));
    EXPECT_EQ(CodeOf(from_tar), hostile.code) << hostile.name << ", tar: " << Why(from_tar);
    NothingLeft(hostile.name);
  }
  struct stat after;
  ASSERT_EQ(stat("/etc/passwd", &after), 0);
  EXPECT_EQ(after.st_nlink, before.st_nlink);
  const auto good = ImportLayout(MadeImage{{Gzip(MakeTar({{'0', "f", "1"}}))}}.Layout());
  EXPECT_TRUE(good.ok()) << "a good image after all that: " << Why(good);
}

TEST_F(OciHostile, b04_a_refusal_names_the_layer_and_the_entry) {
  const MadeImage made{{Gzip(MakeTar({{'2', "a", "/etc"}, {'0', "f", "1"}})),
                        Gzip(MakeTar({{'0', "a/cron.d/x", "x"}}))}};
  const auto refused = ImportLayout(made.Layout());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().subject.find("a/cron.d"), std::string::npos) << Why(refused);
  EXPECT_NE(refused.error().why.find("layer 2 of 2, sha256:" + Sha(made.layers[1].stored)),
            std::string::npos)
      << Why(refused);
}

TEST_F(OciHostile, b04_b09_no_hostile_archive_around_an_image_is_taken) {
  const MadeImage made{{{MakeTar({{'0', "f", "1"}})}}};
  const std::string config_name = Sha(made.Config()) + ".json";
  const auto docker = [&](const std::string& config, const std::string& layers) {
    return TarMember{'0', "manifest.json",
                     R"([{"Config":")" + config + R"(","Layers":)" + layers + "}]"};
  };
  const TarMember config{'0', config_name, made.Config()};
  const TarMember layer{'0', "l.tar", made.layers[0].tar};
  const TarMember manifest = docker(config_name, R"(["l.tar"])");
  ASSERT_TRUE(ImportFile(MakeTar({config, layer, manifest})).ok());
  std::filesystem::remove_all(data_ / ("images/" + Sha(made.Config())));
  Files disagree = made.NewDocker();
  const MadeImage other{{{MakeTar({{'0', "g", "2"}})}}};
  for (const auto& [name, bytes] : other.NewDocker()) {
    if (name != "index.json") disagree[name] = bytes;
  }
  Files swapped = MadeImage{{made.layers[0], other.layers[0]}}.NewDocker();
  const std::string a = Blob(made.layers[0].tar);
  const std::string b = Blob(other.layers[0].tar);
  swapped["manifest.json"] = Replaced(swapped["manifest.json"], "\"" + a + "\",\"" + b + "\"",
                                      "\"" + b + "\",\"" + a + "\"");
  struct Case {
    const char* name;
    std::string bytes;
    const char* code;
  };
  for (const Case& item : std::vector<Case>{
           {"a document twice", MakeTar({config, layer, manifest, manifest}),
            "image.entry.conflict"},
           {"a layer twice", MakeTar({config, layer, layer, manifest}), "image.entry.conflict"},
           {"a link and a file of one name",
            MakeTar({config, layer, {'2', "l.tar", config_name}, manifest}),
            "image.entry.conflict"},
           {"a layer through a link out of the archive",
            MakeTar({config, {'2', "l.tar", "../../etc/passwd"}, manifest}), "image.file.missing"},
           {"a layer through an absolute link",
            MakeTar({config, {'2', "l.tar", "/etc/passwd"}, manifest}), "image.file.missing"},
           {"a layer through a link to itself",
            MakeTar({config, {'2', "l.tar", "l.tar"}, manifest}), "image.file.missing"},
           {"a layer through two links",
            MakeTar({config,
                     {'2', "l.tar", "m.tar"},
                     {'2', "m.tar", "n.tar"},
                     {'0', "n.tar", made.layers[0].tar},
                     manifest}),
            "image.file.missing"},
           {"a layer through a hard link upwards",
            MakeTar({config, {'1', "l.tar", "../etc/passwd"}, manifest}), "image.file.missing"},
           {"a layer that is a directory", MakeTar({config, {'5', "l.tar", ""}, manifest}),
            "image.file.missing"},
           {"a layer that is a device", MakeTar({config, {'3', "l.tar", ""}, manifest}),
            "image.file.missing"},
           {"a layer with an absolute name",
            MakeTar({config, layer, docker(config_name, R"(["/etc/passwd"])")}),
            "image.file.missing"},
           {"a layer named upwards",
            MakeTar({config, layer, docker(config_name, R"(["../l.tar"])")}), "image.file.missing"},
           {"a configuration that is not its name",
            MakeTar({{'0', Sha("x") + ".json", made.Config()},
                     layer,
                     docker(Sha("x") + ".json", R"(["l.tar"])")}),
            "image.digest.mismatch"},
           {"a layer that is not its blob's name",
            MakeTar({config,
                     {'0',
                      "blobs/sha256/" + Sha("x"),
                      made.layers[0].tar,
                      0644,
                      {{"path", "blobs/sha256/" + Sha("x")}}},
                     docker(config_name, "[\"blobs/sha256/" + Sha("x") + "\"]")}),
            "image.digest.mismatch"},
           {"a layer with other bytes than the diff_id",
            MakeTar({config, {'0', "l.tar", MakeTar({{'0', "g", "2"}})}, manifest}),
            "image.digest.mismatch"},
           {"manifest.json and index.json disagree", ArchiveOf(disagree),
            "image.document.malformed"},
           {"they disagree in the order of the layers", ArchiveOf(swapped),
            "image.document.malformed"},
           {"a manifest that is no list",
            MakeTar({config, layer, {'0', "manifest.json", made.Manifest()}}),
            "image.document.malformed"},
           {"a document over 1 MiB",
            MakeTar({config, layer, {'0', "manifest.json", std::string((1 << 20) + 1, ' ')}}),
            "image.document.malformed"},
           {"cut short", MakeTar({manifest, config, layer}).substr(0, 2048),
            "image.archive.damaged"},
           {"data behind the end", MakeTar({manifest, config, layer}) + std::string(512, 'x'),
            "image.archive.damaged"},
           {"gzip of gzip",
            Compress(Compress(MakeTar({manifest, config, layer}), archive_write_add_filter_gzip),
                     archive_write_add_filter_gzip),
            "image.archive.format"},
           {"f09 a bomb around the image",
            Compress(MakeTar({manifest, config, {'0', "l.tar", std::string(64 << 20, '\0')}}),
                     archive_write_add_filter_gzip),
            "image.bounds.expansion"}}) {
    const auto refused = ImportFile(item.bytes);
    EXPECT_EQ(CodeOf(refused), item.code) << item.name << ": " << Why(refused);
    NothingLeft(item.name);
  }
}

}  // namespace
}  // namespace bailiff::test
