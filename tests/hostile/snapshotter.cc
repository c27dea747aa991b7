// SPDX-License-Identifier: Apache-2.0
// A snapshotter that writes another tree than it was asked for and says it did not. The job that
// verifies is honest: it is a fresh process that has read nothing but the disk.
#include <fcntl.h>
#include <unistd.h>

#include "snapshotter/helper_main.h"
#include "snapshotter/materialize.h"
#include "snapshotter/verify.h"
#include "tests/hostile/mode.h"
#include "tests/hostile/snapshot_lies.h"

namespace bailiff::snapshotter {
namespace {

void WriteFile(int directory, const char* name, const char* bytes) {
  const int fd =
      openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
  if (fd < 0) return;
  static_cast<void>(ipc::WriteAll(fd, bytes, name).ok());
  close(fd);
}

Result<JobResult> Lie(const Order& order, const Inputs& inputs, Reporter& reporter) {
  const std::string mode = hostile::Mode();
  if (mode == "tree-empty" || mode == "tree-other") {
    if (mode == "tree-other") WriteFile(inputs.out, "README.md", "not what was imported\n");
    return JobResult{order.tree, order.tree, 1, 1};
  }
  if (mode == "tree-extra") WriteFile(inputs.out, "extra", "x");
  return Materialize(inputs.in, inputs.out, order.tree, kSnapshotModes, {order.part, order.parts},
                     reporter);
}

Result<JobResult> Run(const Order& order, const Inputs& inputs, Reporter& reporter) {
  if (order.job == Job::kMaterialize || order.job == Job::kExport)
    return Lie(order, inputs, reporter);
  if (order.job == Job::kListTree) {
    const std::string mode = hostile::Mode();
    if (mode == "list-empty") return JobResult{order.tree, order.tree, 0, 0};
    if (mode == "list-other")
      BAILIFF_TRY(reporter.Observe(0, EntryKind::kFile, 1, policy::Hash("x"), "\x1b[2Jfake"));
    return JobResult{order.tree, order.tree, 1, 1};
  }
  auto verified = VerifyTree(
      inputs.in, order.job == Job::kVerifyImage ? VerifyProfile::kImage : VerifyProfile::kSource,
      reporter);
  // A verifier alone that lies can only make a good tree be refused.
  if (hostile::Mode() == "verify-false" && verified.ok())
    verified->digest = policy::Hash("another tree");
  return verified;
}

}  // namespace
}  // namespace bailiff::snapshotter

int main() {
  bailiff::hostile::BreakProtocol(bailiff::policy::Role::kSnapshotter, bailiff::hostile::Mode());
  return bailiff::snapshotter::HelperMain(bailiff::policy::Role::kSnapshotter,
                                          bailiff::snapshotter::Run);
}
