// SPDX-License-Identifier: Apache-2.0
// bailiff-importer: what strangers made becomes objects and images. The only program that links
// decompressors; static like the rest, because the controller's small root holds no dynamic loader.
#include "snapshotter/helper_main.h"
#include "snapshotter/importer/directory.h"
#include "snapshotter/importer/image.h"

namespace bailiff::snapshotter {
namespace {

Result<JobResult> Run(const Order& order, const Inputs& inputs, Reporter& reporter) {
  switch (order.job) {
    case Job::kImportDirectory:
      return ImportDirectory(inputs.in, inputs.out, reporter);
    case Job::kImportImage:
      return ImportImage(inputs.archive, inputs.out, reporter);
    case Job::kMaterialize:
    case Job::kExport:
    case Job::kListTree:
    case Job::kVerifySource:
    case Job::kVerifyImage:
      break;
  }
  return Error{ErrorCode::kDecode, "Go", "a job of the snapshotter", 0, {}};
}

}  // namespace
}  // namespace bailiff::snapshotter

int main() {
  return bailiff::snapshotter::HelperMain(bailiff::policy::Role::kImporter,
                                          bailiff::snapshotter::Run);
}
