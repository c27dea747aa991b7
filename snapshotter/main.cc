// SPDX-License-Identifier: Apache-2.0
// bailiff-snapshotter: objects to trees and trees to digests. It links no parser of a foreign
// format.
#include "snapshotter/helper_main.h"
#include "snapshotter/materialize.h"
#include "snapshotter/verify.h"

namespace bailiff::snapshotter {
namespace {

Result<JobResult> Run(const Order& order, const Inputs& inputs, Reporter& reporter) {
  switch (order.job) {
    case Job::kMaterialize:
      return Materialize(inputs.in, inputs.out, order.tree, kSnapshotModes,
                         {order.part, order.parts}, reporter);
    case Job::kExport:
      return Materialize(inputs.in, inputs.out, order.tree, kExportModes, {0, 1}, reporter);
    case Job::kListTree:
      return ListTree(inputs.in, order.tree, reporter);
    case Job::kVerifySource:
      return VerifyTree(inputs.in, VerifyProfile::kSource, reporter);
    case Job::kVerifyImage:
      return VerifyTree(inputs.in, VerifyProfile::kImage, reporter);
    case Job::kImportDirectory:
    case Job::kImportImage:
    case Job::kImportGit:
    case Job::kVerifyGit:
    case Job::kExportGit:
    case Job::kReadImageConfig:
    case Job::kExportImage:
      break;
  }
  return Error{ErrorCode::kDecode, "Go", "a job of the importer", 0, {}};
}

}  // namespace
}  // namespace bailiff::snapshotter

int main() {
  return bailiff::snapshotter::HelperMain(bailiff::policy::Role::kSnapshotter,
                                          bailiff::snapshotter::Run);
}
