// SPDX-License-Identifier: Apache-2.0
// What the tests of container images share: imports by the installed programs, from a file and from
// a directory.
#pragma once

#include "tests/unit/snapshotter/data_fixture.h"
#include "tests/unit/snapshotter/image_support.h"

namespace bailiff::test {

using controller::ImageInfo;
using controller::ImageSource;
using policy::ImageFormat;

// An index that names these descriptors.
inline std::string IndexOf(const std::vector<std::string>& descriptors) {
  std::string list;
  for (const std::string& descriptor : descriptors) list += (list.empty() ? "" : ",") + descriptor;
  return R"({"schemaVersion":2,"manifests":[)" + list + "]}";
}

class OciFixture : public DataFixture {
 protected:
  Result<ImageInfo> ImportFile(const std::string& bytes, ImageFormat format = ImageFormat::kFound) {
    source_.Write("archive", bytes, 0600);
    const ipc::Fd file(open((source_ / "archive").c_str(), O_RDONLY | O_CLOEXEC));
    return controller::ImportImage(host_, ImageSource{file.get(), -1, format}, hooks_);
  }
  Result<ImageInfo> ImportLayout(const Files& files, ImageFormat format = ImageFormat::kFound) {
    const TempDirectory layout;
    WriteFiles(layout, files);
    return controller::ImportImage(host_, ImageSource{-1, layout.fd(), format}, hooks_);
  }
  std::string Root(const ImageInfo& info) const {
    return data_ / ("images/" + info.image.hex() + "/root");
  }
  void NothingLeft(const std::string& name) const {
    EXPECT_TRUE(Listing(data_ / "images").empty()) << name;
    EXPECT_EQ(Staged(), 0U) << name;
  }
};

}  // namespace bailiff::test
