// SPDX-License-Identifier: Apache-2.0
// An importer that stages false objects: names that are not their digest, claims without objects,
// objects without claims, links.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshotter/helper_main.h"
#include "snapshotter/importer/directory.h"
#include "snapshotter/importer/image.h"
#include "tests/hostile/mode.h"
#include "tests/hostile/snapshot_lies.h"

namespace bailiff::snapshotter {
namespace {

using policy::ObjectKind;

void WriteFile(int directory, const std::string& name, const char* bytes) {
  const int fd =
      openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return;
  static_cast<void>(ipc::WriteAll(fd, bytes, name).ok());
  close(fd);
}

Result<JobResult> ImportAndLie(const Inputs& inputs, Reporter& reporter) {
  const std::string mode = hostile::Mode();
  BAILIFF_TRY_ASSIGN(JobResult done, ImportDirectory(inputs.in, inputs.out, reporter));
  const policy::Digest digest = policy::Hash("a blob");
  const std::string name = "blob-" + digest.hex();
  const auto claim = [&](std::uint64_t size) {
    return reporter.Object(ObjectKind::kBlob, digest, size);
  };
  if (mode == "stage-false-name") {
    WriteFile(inputs.out, name, "not it");
    BAILIFF_TRY(claim(6));
  }
  if (mode == "stage-false-size") {
    WriteFile(inputs.out, name, "a blob");
    BAILIFF_TRY(claim(7));
  }
  if (mode == "stage-missing") BAILIFF_TRY(claim(6));
  if (mode == "stage-unclaimed") WriteFile(inputs.out, name, "a blob");
  if (mode == "stage-link") {
    if (symlinkat("/data/state.sqlite", inputs.out, name.c_str()) != 0)
      return SystemError("symlinkat", name);
    BAILIFF_TRY(claim(6));
  }
  if (mode == "stage-hard-link") {
    WriteFile(inputs.out, name, "a blob");
    if (linkat(inputs.out, name.c_str(), inputs.out, "second", 0) != 0)
      return SystemError("linkat", name);
    BAILIFF_TRY(claim(6));
  }
  if (mode == "stage-directory") {
    if (mkdirat(inputs.out, name.c_str(), 0700) != 0) return SystemError("mkdirat", name);
    BAILIFF_TRY(claim(6));
  }
  if (mode == "claim-other-revision") done.digest = digest;
  if (mode == "claim-other-tree") done.tree = digest;
  return done;
}

Result<JobResult> Run(const Order& order, const Inputs& inputs, Reporter& reporter) {
  if (order.job == Job::kReadImageConfig) return ReadImageConfig(inputs.archive, reporter);
  if (order.job == Job::kImportImage) {
    auto done = ImportImage({inputs.in, inputs.archive}, inputs.out, order.format, reporter);
    if (done.ok() && hostile::Mode() == "image-other-id")
      done->digest = policy::Hash("another image");
    return done;
  }
  return ImportAndLie(inputs, reporter);
}

}  // namespace
}  // namespace bailiff::snapshotter

int main() {
  bailiff::hostile::BreakProtocol(bailiff::policy::Role::kImporter, bailiff::hostile::Mode());
  return bailiff::snapshotter::HelperMain(bailiff::policy::Role::kImporter,
                                          bailiff::snapshotter::Run);
}
