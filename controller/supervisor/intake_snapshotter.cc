// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/intake.h"
#include "ipc/bounds.h"
#include "policy/tree_path.h"
#include "policy/utf8.h"

namespace bailiff::controller {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxEntries = 1'000'000;
constexpr int kMaxErrno = 4095;

Error Refuse(const char* message, const char* why) {
  return {ErrorCode::kDecode, message, why, 0, {}};
}

bool CountsHold(std::uint64_t entries, std::uint64_t bytes) {
  return entries <= kMaxEntries && bytes <= kMaxBytes;
}

}  // namespace

Result<ProgressValue> Accept(const wire::Progress& message) {
  if (!CountsHold(message.entries(), message.bytes()))
    return Refuse("Progress", "counts outside their bound");
  return ProgressValue{message.entries(), message.bytes()};
}

Result<std::vector<ObjectValue>> Accept(const wire::Objects& message) {
  if (message.objects_size() == 0 ||
      static_cast<std::size_t>(message.objects_size()) > ipc::kMaxObjectsPerFrame)
    return Refuse("Objects", "count outside its bound");
  std::vector<ObjectValue> objects;
  for (const wire::Object& object : message.objects()) {
    const auto digest = policy::RawDigest(object.digest());
    const auto kind = policy::ParseObjectKind(object.kind());
    if (!digest || !kind || !object.has_size() || object.size() > kMaxBytes)
      return Refuse("Objects", "an object outside its bound");
    objects.push_back({*kind, *digest, object.size()});
  }
  return objects;
}

Result<ObservationValue> Accept(wire::Observation& message) {
  const auto kind = policy::ParseEntryKind(message.state());
  const auto blob = policy::RawDigest(message.digest());
  if (!message.has_index() || !kind || !blob || !message.has_size() || message.size() > kMaxBytes)
    return Refuse("Observation", "an entry outside its bound");
  if (message.path().empty() || message.path().size() > policy::kMaxTreePath)
    return Refuse("Observation", "path outside its bound");
  return ObservationValue{message.index(), *kind, *blob, message.size(),
                          std::move(*message.mutable_path())};
}

Result<WarningValue> Accept(wire::Warning& message) {
  const auto code = policy::ParseSnapshotWarning(message.code());
  if (!code || message.path().size() > policy::kMaxTreePath)
    return Refuse("Warning", "code or path outside its bound");
  return WarningValue{*code, std::move(*message.mutable_path())};
}

Result<FailedValue> Accept(wire::Failed& message) {
  const auto fault = policy::ParseSnapshotFault(message.code());
  if (!fault || message.error() < 0 || message.error() > kMaxErrno)
    return Refuse("Failed", "no code");
  if (message.path().size() > ipc::kMaxPath || message.detail().size() > ipc::kMaxDetail)
    return Refuse("Failed", "text outside its bound");
  return FailedValue{*fault, message.error(), std::move(*message.mutable_path()),
                     std::move(*message.mutable_detail())};
}

Result<DoneValue> Accept(const wire::Done& message) {
  const auto digest = policy::RawDigest(message.digest());
  const auto tree = policy::RawDigest(message.tree());
  if (!digest || (message.has_tree() && !tree)) return Refuse("Done", "no digest");
  if (!CountsHold(message.entries(), message.bytes()))
    return Refuse("Done", "counts outside their bound");
  const auto git_commit = policy::RawGitId(message.git_commit());
  const auto git_tree = policy::RawGitId(message.git_tree());
  if ((message.has_git_commit() && !git_commit) || (message.has_git_tree() && !git_tree))
    return Refuse("Done", "no git id");
  return DoneValue{*digest, tree, message.entries(), message.bytes(), git_commit, git_tree};
}

Result<policy::ImageFacts> Accept(wire::ImageFacts& message) {
  if (!message.has_volumes() || !message.has_health_command())
    return Refuse("ImageFacts", "a fact is missing");
  if (static_cast<std::size_t>(message.environment_size()) > policy::kMaxImageEnvironment)
    return Refuse("ImageFacts", "more entries than an image may have");
  policy::ImageFacts facts{{}, message.volumes(), message.health_command()};
  std::size_t bytes = 0;
  for (std::string& entry : *message.mutable_environment()) {
    bytes += entry.size();
    if (bytes > policy::kMaxImageEnvironmentBytes || entry.find('\0') != std::string::npos ||
        !policy::IsUtf8(entry))
      return Refuse("ImageFacts", "an entry outside its bound");
    facts.environment.push_back(std::move(entry));
  }
  return facts;
}

}  // namespace bailiff::controller
