// SPDX-License-Identifier: Apache-2.0
// Images made from a table: layers, a configuration, and the documents around them as an OCI layout
// or as docker save writes them. A test takes a good one and bends it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/unit/snapshotter/support.h"

struct archive;

namespace bailiff::test {

// `bytes` under one of libarchive's filters, for example archive_write_add_filter_gzip.
std::string Compress(const std::string& bytes, int (*add_filter)(archive*));

using Files = std::map<std::string, std::string>;  // name → bytes

struct Layer {
  std::string tar;                     // uncompressed
  std::string stored = {};             // as it lies in the image; empty: `tar`
  std::string media = "layer.v1.tar";  // after "application/vnd.oci.image."
};
Layer Gzip(const std::string& tar);
Layer Zstd(const std::string& tar);

struct MadeImage {
  std::vector<Layer> layers;
  std::string execution = "{}";  // the configuration's "config"
  std::string platform = R"("architecture":"amd64","os":"linux")";

  std::string Config() const;
  std::string Manifest() const;  // OCI
  std::string Index() const;     // naming that manifest alone
  // oci-layout, index.json, blobs/…
  Files Layout() const;
  // As docker wrote it up to version 24: <hex>.json, <hex>/layer.tar, manifest.json, repositories.
  Files OldDocker() const;
  // As docker writes it from version 25: an OCI layout with a manifest.json.
  Files NewDocker() const;
};

std::string Sha(const std::string& bytes);   // 64 hex
std::string Blob(const std::string& bytes);  // its name in a layout
// {"mediaType":"application/vnd.oci.image.<media>","digest":…,"size":…}
std::string DescriptorOf(const std::string& media, const std::string& bytes,
                         const std::string& more = "");
std::string ArchiveOf(const Files& files);
void WriteFiles(const TempDirectory& directory, const Files& files);

}  // namespace bailiff::test
