// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/session.h"

#include <ctime>
#include <string>

#include "ipc/codec.h"
#include "ipc/interface.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;

constexpr std::int64_t kProgressEvery = 100'000'000;  // ns: at most 10 a second
constexpr std::uint64_t kCallsPerCheck = 32;
constexpr std::uint64_t kMaxWarnings = 1000;
constexpr std::uint32_t kMaxParts = 4;

std::int64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

std::string Bytes(const policy::Digest& digest) { return std::string(digest.raw()); }

Error Nonsense(const char* why) { return Error{ErrorCode::kDecode, "Go", why, 0, {}}; }

Order Simple(Job job) {
  Order order;
  order.job = job;
  return order;
}

Result<Order> ReadTree(Job job, const std::string& tree) {
  const auto digest = policy::RawDigest(tree);
  if (!digest) return Nonsense("no digest");
  Order order;
  order.job = job;
  order.tree = *digest;
  return order;
}

}  // namespace

Result<void> Session::SayHello(policy::Role role, std::uint32_t landlock_abi) {
  wire::FromSnapshotter message;
  wire::Hello* hello = message.mutable_hello();
  hello->set_protocol(ipc::kProtocol);
  hello->set_role(static_cast<std::uint32_t>(role));
  hello->set_build(ipc::kInterface.data(), ipc::kInterface.size());
  hello->set_landlock_abi(landlock_abi);
  return ipc::SendMessage(channel_, message);
}

Result<Order> Session::Receive() {
  BAILIFF_TRY_ASSIGN(const auto frame, reader_.Receive(channel_, ipc::FrameReader::Wait::kBlock));
  if (!frame) return MakeFault(SnapshotFault::kCancelled, "channel", "closed before the job");
  BAILIFF_TRY_ASSIGN(const wire::ToSnapshotter message, ipc::DecodeToSnapshotter(*frame));
  switch (message.body_case()) {
    case wire::ToSnapshotter::kGo:
      break;
    case wire::ToSnapshotter::kCancel:
      return MakeFault(SnapshotFault::kCancelled, "job", "cancelled before it began");
    case wire::ToSnapshotter::BODY_NOT_SET:
      return Nonsense("no body");
  }
  const wire::SnapshotterGo& go = message.go();
  switch (go.job_case()) {
    case wire::SnapshotterGo::kMaterialize: {
      BAILIFF_TRY_ASSIGN(Order order, ReadTree(Job::kMaterialize, go.materialize().tree()));
      order.part = go.materialize().part();
      order.parts = go.materialize().parts();
      if (order.parts < 1 || order.parts > kMaxParts || order.part >= order.parts)
        return Nonsense("no such part");
      return order;
    }
    case wire::SnapshotterGo::kExport:
      return ReadTree(Job::kExport, go.export_().tree());
    case wire::SnapshotterGo::kListTree:
      return ReadTree(Job::kListTree, go.list_tree().tree());
    case wire::SnapshotterGo::kVerifyTree:
      if (go.verify_tree().profile() == 1) return Simple(Job::kVerifySource);
      if (go.verify_tree().profile() == 2) return Simple(Job::kVerifyImage);
      return Nonsense("unknown profile");
    case wire::SnapshotterGo::kImportDirectory:
      return Simple(Job::kImportDirectory);
    case wire::SnapshotterGo::kImportImage: {
      const auto format = policy::ParseImageFormat(go.import_image().format());
      if (!format) return Nonsense("unknown format");
      Order order = Simple(Job::kImportImage);
      order.format = *format;
      return order;
    }
    case wire::SnapshotterGo::kReadImageConfig:
      return Simple(Job::kReadImageConfig);
    case wire::SnapshotterGo::kExportImage:
      return Simple(Job::kExportImage);
    case wire::SnapshotterGo::kImportGit: {
      Order order;
      order.job = Job::kImportGit;
      order.commit = go.import_git().commit();
      order.skip_submodules = go.import_git().skip_submodules();
      if (!policy::IsCommitName(order.commit)) return Nonsense("no name of a commit");
      return order;
    }
    case wire::SnapshotterGo::kVerifyGit: {
      BAILIFF_TRY_ASSIGN(Order order, ReadTree(Job::kVerifyGit, go.verify_git().tree()));
      order.skip_submodules = go.verify_git().skip_submodules();
      return order;
    }
    case wire::SnapshotterGo::kExportGit: {
      BAILIFF_TRY_ASSIGN(Order order, ReadTree(Job::kExportGit, go.export_git().tree()));
      const auto revision = policy::RawDigest(go.export_git().revision());
      if (!revision || go.export_git().form() < 1 || go.export_git().form() > 2)
        return Nonsense("no revision or form");
      order.revision = *revision;
      order.as_commit = go.export_git().form() == 2;
      return order;
    }
    case wire::SnapshotterGo::JOB_NOT_SET:
      break;
  }
  return Nonsense("no job");
}

Result<void> Session::CheckCancelled() {
  BAILIFF_TRY_ASSIGN(const auto frame, reader_.Receive(channel_, ipc::FrameReader::Wait::kPoll));
  if (reader_.closed()) return MakeFault(SnapshotFault::kCancelled, "channel", "closed");
  if (!frame) return {};
  BAILIFF_TRY_ASSIGN(const wire::ToSnapshotter message, ipc::DecodeToSnapshotter(*frame));
  if (message.has_cancel()) return MakeFault(SnapshotFault::kCancelled, "job", "cancelled");
  return Error{ErrorCode::kDecode, "frame", "a second job", 0, {}};
}

Result<void> Session::Progress(std::uint64_t entries, std::uint64_t bytes) {
  if (++calls_ % kCallsPerCheck != 0) return {};
  BAILIFF_TRY(CheckCancelled());
  const std::int64_t now = Now();
  if (now < next_progress_ns_) return {};
  next_progress_ns_ = now + kProgressEvery;
  wire::FromSnapshotter message;
  message.mutable_progress()->set_entries(entries);
  message.mutable_progress()->set_bytes(bytes);
  return ipc::SendMessage(channel_, message);
}

Result<void> Session::Object(policy::ObjectKind kind, const policy::Digest& digest,
                             std::uint64_t size) {
  objects_.push_back({kind, digest, size});
  if (objects_.size() < ipc::kMaxObjectsPerFrame) return {};
  return FlushObjects();
}

Result<void> Session::FlushObjects() {
  if (objects_.empty()) return {};
  wire::FromSnapshotter message;
  for (const Staged& staged : objects_) {
    wire::Object* object = message.mutable_objects()->add_objects();
    object->set_kind(static_cast<std::uint32_t>(staged.kind));
    object->set_digest(Bytes(staged.digest));
    object->set_size(staged.size);
  }
  objects_.clear();
  return ipc::SendMessage(channel_, message);
}

Result<void> Session::Observe(std::uint32_t index, policy::EntryKind kind, std::uint64_t size,
                              const policy::Digest& blob, std::string_view path) {
  wire::FromSnapshotter message;
  wire::Observation* entry = message.mutable_observation();
  entry->set_index(index);
  entry->set_state(static_cast<unsigned char>(kind));
  entry->set_digest(Bytes(blob));
  entry->set_size(size);
  entry->set_path(std::string(path));
  return ipc::SendMessage(channel_, message);
}

Result<void> Session::Facts(const policy::ImageFacts& facts) {
  wire::FromSnapshotter message;
  wire::ImageFacts* said = message.mutable_image_facts();
  for (const std::string& entry : facts.environment) said->add_environment(entry);
  said->set_volumes(facts.volumes);
  said->set_health_command(facts.health_command);
  return ipc::SendMessage(channel_, message);
}

Result<void> Session::Warn(policy::SnapshotWarning code, std::string_view path) {
  if (++warnings_ > kMaxWarnings + 1) return {};
  if (warnings_ == kMaxWarnings + 1) {
    code = policy::SnapshotWarning::kMore;
    path = {};
  }
  wire::FromSnapshotter message;
  message.mutable_warning()->set_code(static_cast<std::uint32_t>(code));
  message.mutable_warning()->set_path(std::string(path.substr(0, ipc::kMaxPath)));
  return ipc::SendMessage(channel_, message);
}

Result<void> Session::End(const Result<JobResult>& result) {
  wire::FromSnapshotter message;
  if (result.ok()) {
    BAILIFF_TRY(FlushObjects());
    wire::Done* done = message.mutable_done();
    done->set_digest(Bytes(result->digest));
    if (result->tree) done->set_tree(Bytes(*result->tree));
    done->set_entries(result->entries);
    done->set_bytes(result->bytes);
    if (result->git) {
      if (result->git->commit != policy::GitId{})
        done->set_git_commit(std::string(result->git->commit.raw()));
      done->set_git_tree(std::string(result->git->tree.raw()));
    }
    return ipc::SendMessage(channel_, message);
  }
  const Error& error = result.error();
  wire::Failed* failed = message.mutable_failed();
  failed->set_code(static_cast<std::uint32_t>(policy::ErrorFault(error.code)));
  failed->set_error(error.system_error);
  failed->set_path(error.subject.substr(0, ipc::kMaxPath));
  failed->set_detail(error.why.substr(0, ipc::kMaxDetail));
  return ipc::SendMessage(channel_, message);
}

}  // namespace bailiff::snapshotter
