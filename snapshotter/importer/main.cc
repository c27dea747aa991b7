// SPDX-License-Identifier: Apache-2.0
// bailiff-importer: what strangers made becomes objects and images, and trees become git
// repositories. The only program that links decompressors and git; static like the rest, because
// the controller's small root holds no dynamic loader.
#include <cstdio>

#include "ipc/bounds.h"
#include "snapshotter/helper_main.h"
#include "snapshotter/importer/directory.h"
#include "snapshotter/importer/export.h"
#include "snapshotter/importer/git_export.h"
#include "snapshotter/importer/git_import.h"
#include "snapshotter/importer/git_store.h"
#include "snapshotter/importer/git_verify.h"
#include "snapshotter/importer/image.h"

namespace bailiff::snapshotter {
namespace {

Result<JobResult> Run(const Order& order, const Inputs& inputs, Reporter& reporter) {
  switch (order.job) {
    case Job::kImportDirectory:
      return ImportDirectory(inputs.in, inputs.out, reporter);
    case Job::kImportImage:
      return ImportImage({inputs.in, inputs.archive}, inputs.out, order.format, reporter);
    case Job::kImportGit:
      return ImportGit(inputs.in, "/in", inputs.out, {order.commit, order.skip_submodules},
                       reporter);
    case Job::kVerifyGit:
      return VerifyGit(inputs.in, order.tree, order.skip_submodules, reporter);
    case Job::kExportGit:
      return ExportGit(
          inputs.in, inputs.out,
          {order.tree, order.revision, order.as_commit ? GitForm::kCommit : GitForm::kTree},
          reporter);
    case Job::kReadImageConfig:
      return ReadImageConfig(inputs.archive, reporter);
    case Job::kExportImage:
      return ExportImage(inputs.in, inputs.out, reporter);
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
  // While the process may still ask the kernel for anything, and before it sees a byte from
  // outside.
  if (const auto ready = bailiff::snapshotter::InitialiseGit(); !ready.ok()) {
    dprintf(bailiff::ipc::kDiagnosisFd, "libgit2: %s\n", ready.error().why.c_str());
    return 1;
  }
  return bailiff::snapshotter::HelperMain(bailiff::policy::Role::kImporter,
                                          bailiff::snapshotter::Run);
}
