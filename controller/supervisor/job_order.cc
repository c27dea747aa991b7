// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/job_order.h"

#include "policy/tree_path.h"

namespace bailiff::controller {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kSlackBytes = 64ULL << 20;        // of a manifest beside the largest file
constexpr std::uint64_t kArchiveSlackBytes = 1ULL << 30;  // headers and names of 200,000 entries

// Beside the files of a source: its manifest, the proof of a commit, headers of a git repository.
constexpr std::uint64_t kMostOfSource = policy::kSourceBounds.bytes + (256ULL << 20);
constexpr std::uint64_t kSourceNodes =
    policy::kSourceBounds.entries * (1 + policy::kDirectoriesPerEntry) + 1024;
// The layers out of a compressed archive, and then the files out of the layers.
constexpr std::uint64_t kMostOfImage = 2 * (policy::kImageBounds.bytes + kArchiveSlackBytes);
constexpr std::uint64_t kImageNodes =
    policy::kImageBounds.entries * (1 + policy::kDirectoriesPerEntry) + 1024;

}  // namespace

JobRow RowOf(JobKind kind) {
  switch (kind) {
    case JobKind::kMaterialize:
    case JobKind::kVerifySource:
    case JobKind::kExport:
    case JobKind::kListTree:
      return {false, seconds{300}, policy::kSourceBounds.file_bytes + kSlackBytes, kMostOfSource,
              kSourceNodes};
    case JobKind::kVerifyImage:
      return {false, seconds{900}, policy::kImageBounds.file_bytes};
    case JobKind::kVerifyGit:
      return {true, seconds{300}, 0};
    case JobKind::kExportGit:
      return {true, seconds{300}, policy::kSourceBounds.file_bytes + kSlackBytes, kMostOfSource,
              kSourceNodes};
    case JobKind::kImportDirectory:
    case JobKind::kImportGit:
      return {true, seconds{600}, policy::kSourceBounds.file_bytes + kSlackBytes, kMostOfSource,
              kSourceNodes};
    case JobKind::kImportImage:
      return {true, seconds{1800}, policy::kImageBounds.bytes + kArchiveSlackBytes, kMostOfImage,
              kImageNodes};
    case JobKind::kReadImageConfig:
      return {true, seconds{30}, 0};
    case JobKind::kExportImage:
      return {true, seconds{900}, policy::kImageBounds.bytes + kArchiveSlackBytes,
              policy::kImageBounds.bytes + kArchiveSlackBytes, 2};
  }
  return {false, seconds{0}, 0};
}

std::uint64_t MostObjects(JobKind kind) {
  switch (kind) {
    case JobKind::kImportDirectory:
    case JobKind::kImportGit:
      // Every entry brings at most one blob; then a tree and a revision.
      return policy::kSourceBounds.entries + 2;
    case JobKind::kImportImage:
    case JobKind::kReadImageConfig:
      return policy::kMaxImageLayers;
    case JobKind::kExportImage:
      return 1;
    case JobKind::kMaterialize:
    case JobKind::kVerifySource:
    case JobKind::kVerifyImage:
    case JobKind::kExport:
    case JobKind::kVerifyGit:
    case JobKind::kExportGit:
    case JobKind::kListTree:
      break;
  }
  return 0;
}

wire::ToSnapshotter GoFor(const JobRequest& request) {
  wire::ToSnapshotter message;
  wire::SnapshotterGo* go = message.mutable_go();
  switch (request.kind) {
    case JobKind::kMaterialize:
      go->mutable_materialize()->set_tree(std::string(request.tree.raw()));
      go->mutable_materialize()->set_part(request.part);
      go->mutable_materialize()->set_parts(request.parts);
      break;
    case JobKind::kExport:
      go->mutable_export_()->set_tree(std::string(request.tree.raw()));
      break;
    case JobKind::kListTree:
      go->mutable_list_tree()->set_tree(std::string(request.tree.raw()));
      break;
    case JobKind::kVerifySource:
      go->mutable_verify_tree()->set_profile(1);
      break;
    case JobKind::kVerifyImage:
      go->mutable_verify_tree()->set_profile(2);
      break;
    case JobKind::kImportDirectory:
      go->mutable_import_directory();
      break;
    case JobKind::kImportImage:
      go->mutable_import_image()->set_format(static_cast<std::uint32_t>(request.format));
      break;
    case JobKind::kReadImageConfig:
      go->mutable_read_image_config();
      break;
    case JobKind::kExportImage:
      go->mutable_export_image();
      break;
    case JobKind::kImportGit:
      go->mutable_import_git()->set_commit(request.commit);
      go->mutable_import_git()->set_skip_submodules(request.skip_submodules);
      break;
    case JobKind::kVerifyGit:
      go->mutable_verify_git()->set_tree(std::string(request.tree.raw()));
      go->mutable_verify_git()->set_skip_submodules(request.skip_submodules);
      break;
    case JobKind::kExportGit:
      go->mutable_export_git()->set_tree(std::string(request.tree.raw()));
      go->mutable_export_git()->set_revision(std::string(request.revision.raw()));
      go->mutable_export_git()->set_form(request.as_commit ? 2 : 1);
      break;
  }
  return message;
}

}  // namespace bailiff::controller
