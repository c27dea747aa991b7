// SPDX-License-Identifier: Apache-2.0
// Container images end to end, by the programs as they are installed: one id from every form, and a
// table of images bent in one place, none of which may leave an image behind or touch anything
// outside.
#include <archive.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/unit/snapshotter/oci_fixture.h"

namespace bailiff::test {
namespace {

using controller::ExportImage;
using controller::ImportImage;

MadeImage Small() {
  return {
      {Gzip(MakeTar({{'5', "bin/", "", 0755},
                     {'0', "bin/sh", "ELF", 0755},
                     {'0', "etc/old", "old"},
                     {'0', "etc/shadow", "secret", 0640}})),
       Zstd(MakeTar({{'0', "etc/.wh.old", ""}, {'1', "bin/ash", "bin/sh"}})),
       {MakeTar({{'0', "etc/new", "new"}, {'2', "lib", "usr/lib"}})}},
      R"({"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],"Cmd":["sh"]})"};
}

using OciJobs = OciFixture;

TEST_F(OciJobs, layers_become_one_root_under_the_id_of_their_configuration) {
  const MadeImage made = Small();
  const auto image = ImportLayout(made.Layout());
  ASSERT_TRUE(image.ok()) << Why(image);
  EXPECT_EQ(image->image.hex(), Sha(made.Config()));
  EXPECT_EQ(image->config, made.Config());
  EXPECT_EQ(ReadAll(data_ / ("images/" + image->image.hex() + "/config.json")), made.Config());
  ASSERT_EQ(image->diff_ids.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(image->diff_ids[i].hex(), Sha(made.layers[i].tar));
  EXPECT_EQ(image->source.hex(), Sha(made.Index()));
  EXPECT_EQ(Listing(Root(*image)),
            (std::map<std::string, std::string>{{"bin", "d 0755"},
                                                {"bin/sh", "f 0755 ELF"},
                                                {"bin/ash", "f 0755 ELF"},
                                                {"etc", "d 0755"},
                                                {"etc/new", "f 0644 new"},
                                                {"etc/shadow", "f 0640 secret"},
                                                {"lib", "l usr/lib"},
                                                {"source", "d 0755"},
                                                {"scratch", "d 0755"},
                                                {"proc", "d 0755"},
                                                {"sys", "d 0755"},
                                                {"dev", "d 0755"}}));
  EXPECT_EQ(image->record.facts.environment,
            std::vector<std::string>{
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"});
  EXPECT_EQ(Staged(), 0U);
}

TEST_F(OciJobs, every_form_of_one_image_has_one_id_and_is_kept_as_it_came_first) {
  MadeImage plain = Small();  // docker save stores layers uncompressed
  for (Layer& layer : plain.layers) layer = {layer.tar};
  const MadeImage made = Small();
  ASSERT_EQ(made.Config(), plain.Config());
  const auto first = ImportLayout(made.Layout());
  ASSERT_TRUE(first.ok()) << Why(first);
  const std::string oci = ArchiveOf(made.Layout());
  const std::string old_docker = ArchiveOf(plain.OldDocker());
  const std::string new_docker = ArchiveOf(plain.NewDocker());
  Files dotted;
  for (const auto& [name, bytes] : made.Layout()) dotted["./" + name] = bytes;
  struct Form {
    const char* name;
    const std::string bytes;
    ImageFormat format;
  };
  for (const Form& form : std::vector<Form>{
           {"OCI tar", oci, ImageFormat::kFound},
           {"OCI tar, said", oci, ImageFormat::kOci},
           {"OCI tar with leading dots", ArchiveOf(dotted), ImageFormat::kFound},
           {"OCI tar under gzip", Compress(oci, archive_write_add_filter_gzip),
            ImageFormat::kFound},
           {"OCI tar under xz", Compress(oci, archive_write_add_filter_xz), ImageFormat::kOci},
           {"docker save, old", old_docker, ImageFormat::kFound},
           {"docker save, old, said", old_docker, ImageFormat::kDocker},
           {"docker save under gzip", Compress(old_docker, archive_write_add_filter_gzip),
            ImageFormat::kFound},
           {"docker save under zstd", Compress(old_docker, archive_write_add_filter_zstd),
            ImageFormat::kDocker},
           {"docker save with compressed layers", ArchiveOf(made.OldDocker()), ImageFormat::kFound},
           {"docker save, new", new_docker, ImageFormat::kFound},
           {"docker save, new, said", new_docker, ImageFormat::kDocker},
           {"docker save, new, said to be OCI", new_docker, ImageFormat::kOci}}) {
    const auto again = ImportFile(form.bytes, form.format);
    ASSERT_TRUE(again.ok()) << form.name << ": " << Why(again);
    EXPECT_TRUE(again->existed) << form.name;
    EXPECT_EQ(again->image, first->image) << form.name;
    EXPECT_EQ(again->record.tree, first->record.tree) << form.name;
    EXPECT_EQ(again->record.facts, first->record.facts) << form.name;
    EXPECT_EQ(again->source.hex(), Sha(form.bytes)) << form.name;
  }
}

// What docker save did with a layer that two images share, and what go-containerregistry names
// files.
TEST_F(OciJobs, other_writers_names_are_found) {
  const MadeImage made{{{MakeTar({{'0', "f", "1"}})}, {MakeTar({{'0', "g", "2"}})}}};
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  const auto linked = ImportFile(
      MakeTar({{'0', a + "/layer.tar", made.layers[0].tar},
               {'2', b + "/layer.tar", "../" + a + "/layer.tar"},
               {'0', "sha256:" + Sha(made.Config()), made.Config()},
               {'0', "x.tar.gz", Compress(made.layers[1].tar, archive_write_add_filter_gzip)},
               {'0', "manifest.json",
                R"([{"Config":"sha256:)" + Sha(made.Config()) + R"(","Layers":[")" + b +
                    R"(/layer.tar","x.tar.gz"]}])"}}));
  ASSERT_TRUE(linked.ok()) << Why(linked);
  EXPECT_EQ(linked->image.hex(), Sha(made.Config()));
}

TEST_F(OciJobs, what_a_file_is_follows_from_its_content) {
  const MadeImage made{{{MakeTar({{'0', "f", "1"}})}}};
  const std::string root = MakeTar({{'0', "bin/sh", "ELF"}, {'0', "etc/manifest.json", "[]"}});
  const auto found = ImportFile(root);
  ASSERT_TRUE(found.ok()) << Why(found);
  EXPECT_EQ(found->config, policy::RootfsConfig(policy::Hash(root)));
  EXPECT_EQ(CodeOf(ImportFile(root, ImageFormat::kOci)), "image.file.missing");
  EXPECT_EQ(CodeOf(ImportFile(root, ImageFormat::kDocker)), "image.file.missing");
  Files mixed = made.OldDocker();
  mixed["usr/bin/env"] = "ELF";
  EXPECT_EQ(CodeOf(ImportFile(ArchiveOf(mixed))), "image.format.unclear");
  EXPECT_TRUE(ImportFile(ArchiveOf(mixed), ImageFormat::kDocker).ok());
  EXPECT_TRUE(ImportFile(ArchiveOf(mixed), ImageFormat::kRootfs).ok());
  const TempDirectory empty;
  for (const ImageFormat format : {ImageFormat::kFound, ImageFormat::kDocker, ImageFormat::kRootfs})
    EXPECT_EQ(CodeOf(ImportImage(host_, ImageSource{-1, empty.fd(), format}, hooks_)),
              "image.format.unclear");
  EXPECT_EQ(CodeOf(ImportLayout(made.OldDocker())), "image.format.unclear");
  EXPECT_EQ(CodeOf(ImportLayout(made.Layout(), ImageFormat::kDocker)), "image.format.unclear");
}

// --- choosing among several

std::string Platform(const std::string& architecture, const std::string& os = "linux") {
  return R"(,"platform":{"architecture":")" + architecture + R"(","os":")" + os + "\"}";
}
std::string Named(const MadeImage& image, const std::string& more = "") {
  return DescriptorOf("manifest.v1+json", image.Manifest(), more);
}

TEST_F(OciJobs, of_several_platforms_ours_is_taken) {
  const MadeImage ours{{{MakeTar({{'0', "f", "amd64"}})}}};
  const MadeImage other{
      {{MakeTar({{'0', "f", "arm64"}})}}, "{}", R"("architecture":"arm64","os":"linux")"};
  Files files = ours.Layout();
  for (const auto& [name, bytes] : other.Layout()) files.emplace(name, bytes);
  const auto with = [&files](const std::string& index) {
    Files bent = files;
    bent["index.json"] = index;
    return bent;
  };
  const std::string attestation = Platform("unknown", "unknown");
  const std::string inner =
      IndexOf({Named(other, Platform("arm64")), Named(ours, Platform("amd64"))});
  Files nested = with(IndexOf({DescriptorOf("index.v1+json", inner)}));
  nested[Blob(inner)] = inner;
  for (const Files& good :
       {with(IndexOf({Named(other, Platform("arm64")), Named(ours, Platform("amd64"))})),
        with(IndexOf({Named(ours, Platform("amd64")), Named(other, attestation)})),
        with(IndexOf({Named(ours), Named(ours, R"(,"annotations":{"a":"second name"})")})),
        nested}) {
    const auto image = ImportLayout(good);
    ASSERT_TRUE(image.ok()) << good.at("index.json") << Why(image);
    EXPECT_EQ(image->image.hex(), Sha(ours.Config()));
  }
  const MadeImage second{{{MakeTar({{'0', "f", "another"}})}}};
  for (const auto& [name, bytes] : second.Layout()) files.emplace(name, bytes);
  EXPECT_EQ(CodeOf(ImportLayout(with(IndexOf({Named(ours), Named(second)})))),
            "image.manifest.ambiguous");
  EXPECT_EQ(CodeOf(ImportLayout(
                with(IndexOf({Named(ours, Platform("amd64")), Named(second, Platform("amd64"))})))),
            "image.manifest.ambiguous");
  EXPECT_EQ(CodeOf(ImportLayout(with(IndexOf({Named(other, Platform("arm64"))})))),
            "image.platform.refused");
  EXPECT_EQ(CodeOf(ImportLayout(with(IndexOf({Named(other)})))), "image.platform.refused");
}

TEST_F(OciJobs, b04_links_of_a_layout_directory_are_not_followed) {
  const MadeImage made{{{MakeTar({{'0', "f", "1"}})}}};
  TempDirectory elsewhere;
  elsewhere.Write("blob", made.layers[0].tar);
  const std::string name = Blob(made.layers[0].tar);
  for (const char* which : {"file", "directory", "fifo"}) {
    const TempDirectory layout;
    WriteFiles(layout, made.Layout());
    std::filesystem::remove(layout / name);
    if (which == std::string("file")) layout.Link(name, elsewhere / "blob");
    if (which == std::string("fifo")) {
      ASSERT_EQ(mkfifo((layout / name).c_str(), 0644), 0);
      ASSERT_EQ(chmod((layout / name).c_str(), 0644), 0);
    }
    if (which == std::string("directory")) {
      layout.Write(name, made.layers[0].tar);
      std::filesystem::rename(layout / "blobs", layout / "real");
      layout.Link("blobs", "real");
    }
    EXPECT_EQ(CodeOf(ImportImage(host_, ImageSource{-1, layout.fd(), ImageFormat::kFound}, hooks_)),
              "image.file.missing")
        << which;
    NothingLeft(which);
  }
}

TEST_F(OciJobs, f09_cancelling_anywhere_leaves_nothing) {
  std::vector<TarMember> members;
  for (int i = 0; i < 20000; ++i) members.push_back({'0', "f" + std::to_string(i), "x"});
  const MadeImage made{{Gzip(MakeTar(members)), Gzip(MakeTar({{'0', ".wh.f1", ""}}))}};
  const std::string archive = Compress(ArchiveOf(made.Layout()), archive_write_add_filter_gzip);
  for (const bool unpacking : {false, true}) {
    bool now = false;
    hooks_.progress = [&](std::uint64_t entries, std::uint64_t bytes) {
      now = unpacking ? entries > 0 : bytes > 0;
    };
    hooks_.cancelled = [&] { return now; };
    EXPECT_EQ(CodeOf(ImportFile(archive)), "run.signal.cancelled");
    NothingLeft("cancelled");
  }
}

// --- out again

class ImageExports : public OciJobs {
 protected:
  void SetUp() override {
    OciJobs::SetUp();
    own_ = host_;
    own_.identity.uid = own_.identity.gid = 0;
    own_.identity.uid_map = own_.identity.gid_map = {{0, 0, 1}};
  }
  Result<controller::ExportedImage> Export(const ImageInfo& image) {
    source_.Write("out.tar", "");
    const ipc::Fd file(open((source_ / "out.tar").c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    return ExportImage(own_, image.image.hex(), file.get(), hooks_);
  }
  std::string Written() const { return ReadAll(source_ / "out.tar"); }

  controller::JobHost own_;
};

TEST_F(ImageExports, what_is_written_is_the_same_root_under_an_id_of_its_own) {
  MadeImage made = Small();
  const std::string deep =
      std::string(90, 'a') + "/" + std::string(90, 'b') + "/" + std::string(90, 'c');
  made.layers.push_back({MakeTar({{'0', "x", "deep", 0644, {{"path", deep}}},
                                  {'2', "far", "x", 0777, {{"linkpath", deep}}},
                                  {'1', "near", "x", 0644, {{"linkpath", deep}}},
                                  {'0', "latin-\xe9", "e"},
                                  {'0', "exactly512", std::string(512, '5')},
                                  {'5', "empty/", "", 0711},
                                  {'0', "x", "100", 0644, {{"path", std::string(100, 'n')}}},
                                  {'0', "x", "101", 0644, {{"path", std::string(101, 'n')}}}})});
  const auto image = ImportLayout(made.Layout());
  ASSERT_TRUE(image.ok()) << Why(image);
  const auto first = Export(*image);
  ASSERT_TRUE(first.ok()) << Why(first);
  const std::string bytes = Written();
  EXPECT_EQ(first->file.hex(), Sha(bytes));
  EXPECT_EQ(first->bytes, bytes.size());
  EXPECT_NE(first->image, image->image);
  const auto again = Export(*image);
  ASSERT_TRUE(again.ok()) << Why(again);
  EXPECT_EQ(Written(), bytes);
  EXPECT_EQ(Staged(), 0U);
  const auto back = ImportFile(bytes);
  ASSERT_TRUE(back.ok()) << Why(back);
  EXPECT_EQ(back->image, first->image);
  EXPECT_EQ(back->record.tree, image->record.tree);
  EXPECT_EQ(back->config, policy::RootfsConfig(first->layer));
  EXPECT_EQ(Listing(Root(*back)), Listing(Root(*image)));
  struct stat linked;
  ASSERT_EQ(stat((Root(*back) + "/near").c_str(), &linked), 0);
  EXPECT_EQ(linked.st_nlink, 2U);
  const auto once_more = Export(*back);
  ASSERT_TRUE(once_more.ok()) << Why(once_more);
  EXPECT_EQ(Written(), bytes) << "the same root, however it came in";
}

TEST_F(ImageExports, a_failing_export_says_so_and_leaves_no_staging) {
  const auto image = ImportLayout(Small().Layout());
  ASSERT_TRUE(image.ok()) << Why(image);
  const ipc::Fd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(CodeOf(ExportImage(own_, image->image.hex(), full.get(), hooks_)), "host.call.failed");
  hooks_.cancelled = [] { return true; };
  EXPECT_EQ(CodeOf(Export(*image)), "run.signal.cancelled");
  hooks_.cancelled = nullptr;
  EXPECT_FALSE(ExportImage(own_, std::string(64, '0'), full.get(), hooks_).ok());
  EXPECT_EQ(Staged(), 0U);
}

}  // namespace
}  // namespace bailiff::test
