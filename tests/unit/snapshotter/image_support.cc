// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/snapshotter/image_support.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <memory>

namespace bailiff::test {

std::string Compress(const std::string& bytes, int (*add_filter)(archive*)) {
  const std::unique_ptr<archive, int (*)(archive*)> writer(archive_write_new(), archive_write_free);
  std::string out(bytes.size() + (1 << 20), '\0');
  std::size_t used = 0;
  EXPECT_EQ(archive_write_set_format_raw(writer.get()), ARCHIVE_OK);
  EXPECT_EQ(add_filter(writer.get()), ARCHIVE_OK);
  // The same bytes in every second; the other filters have no such option.
  archive_write_set_filter_option(writer.get(), "gzip", "timestamp", nullptr);
  archive_write_set_bytes_in_last_block(writer.get(), 1);
  EXPECT_EQ(archive_write_open_memory(writer.get(), out.data(), out.size(), &used), ARCHIVE_OK);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  EXPECT_EQ(archive_write_header(writer.get(), entry), ARCHIVE_OK);
  archive_entry_free(entry);
  EXPECT_EQ(archive_write_data(writer.get(), bytes.data(), bytes.size()),
            static_cast<la_ssize_t>(bytes.size()));
  EXPECT_EQ(archive_write_close(writer.get()), ARCHIVE_OK);
  out.resize(used);
  return out;
}

namespace {

std::string Array(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += (text.size() == 1 ? "" : ",") + item;
  return text + "]";
}

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

const std::string& StoredOf(const Layer& layer) {
  return layer.stored.empty() ? layer.tar : layer.stored;
}

}  // namespace

std::string Sha(const std::string& bytes) { return policy::Hash(bytes).hex(); }
std::string Blob(const std::string& bytes) { return "blobs/sha256/" + Sha(bytes); }

std::string DescriptorOf(const std::string& media, const std::string& bytes,
                         const std::string& more) {
  return R"({"mediaType":"application/vnd.oci.image.)" + media + R"(","digest":"sha256:)" +
         Sha(bytes) + R"(","size":)" + std::to_string(bytes.size()) + more + "}";
}

Layer Gzip(const std::string& tar) {
  return {tar, Compress(tar, archive_write_add_filter_gzip), "layer.v1.tar+gzip"};
}
Layer Zstd(const std::string& tar) {
  return {tar, Compress(tar, archive_write_add_filter_zstd), "layer.v1.tar+zstd"};
}

std::string MadeImage::Config() const {
  std::vector<std::string> diff_ids;
  for (const Layer& layer : layers) diff_ids.push_back(Quoted("sha256:" + Sha(layer.tar)));
  return "{" + platform + R"(,"created":"2024-01-01T00:00:00Z","config":)" + execution +
         R"(,"rootfs":{"type":"layers","diff_ids":)" + Array(diff_ids) + R"(},"history":[]})";
}

std::string MadeImage::Manifest() const {
  std::vector<std::string> named;
  for (const Layer& layer : layers) named.push_back(DescriptorOf(layer.media, StoredOf(layer)));
  return R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":)" +
         DescriptorOf("config.v1+json", Config()) + R"(,"layers":)" + Array(named) + "}";
}

std::string MadeImage::Index() const {
  return R"({"schemaVersion":2,"manifests":[)" + DescriptorOf("manifest.v1+json", Manifest()) +
         "]}";
}

Files MadeImage::Layout() const {
  Files files{{"oci-layout", R"({"imageLayoutVersion":"1.0.0"})"}, {"index.json", Index()}};
  for (const std::string& bytes : {Manifest(), Config()}) files[Blob(bytes)] = bytes;
  for (const Layer& layer : layers) files[Blob(StoredOf(layer))] = StoredOf(layer);
  return files;
}

Files MadeImage::OldDocker() const {
  Files files{{"repositories", R"({"x":{"latest":"1"}})"}};
  std::vector<std::string> named;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string folder = Sha("layer " + std::to_string(i));
    files[folder + "/layer.tar"] = StoredOf(layers[i]);
    files[folder + "/VERSION"] = "1.0";
    files[folder + "/json"] = "{}";
    named.push_back(Quoted(folder + "/layer.tar"));
  }
  files[Sha(Config()) + ".json"] = Config();
  files["manifest.json"] = R"([{"Config":")" + Sha(Config()) +
                           R"(.json","RepoTags":["x:latest"],)" + R"("Layers":)" + Array(named) +
                           "}]\n";
  return files;
}

Files MadeImage::NewDocker() const {
  Files files = Layout();
  std::vector<std::string> named;
  for (const Layer& layer : layers) named.push_back(Quoted(Blob(StoredOf(layer))));
  files["manifest.json"] = R"([{"Config":")" + Blob(Config()) + R"(","RepoTags":["x:latest"],)" +
                           R"("Layers":)" + Array(named) + "}]";
  return files;
}

std::string ArchiveOf(const Files& files) {
  std::vector<TarMember> members;
  for (const auto& [name, bytes] : files) {
    TarMember member{'0', name, bytes};
    if (name.size() > 100) member.pax.emplace_back("path", name);
    members.push_back(std::move(member));
  }
  return MakeTar(members);
}

void WriteFiles(const TempDirectory& directory, const Files& files) {
  for (const auto& [name, bytes] : files) directory.Write(name, bytes);
}

}  // namespace bailiff::test
