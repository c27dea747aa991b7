// SPDX-License-Identifier: Apache-2.0
// A hijacked snapshotter or importer: locked and polite like the real one, and lying. Which lie is
// read from the file `lie` of its input (or is the archive itself). It keeps the protocol but where
// the lie is about the protocol.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "ipc/codec.h"
#include "ipc/fault.h"
#include "snapshotter/helper_main.h"
#include "snapshotter/importer/directory.h"
#include "snapshotter/importer/git_store.h"
#include "snapshotter/importer/git_verify.h"
#include "snapshotter/importer/image.h"
#include "snapshotter/materialize.h"
#include "snapshotter/verify.h"

namespace bailiff::snapshotter {
namespace {

using policy::ObjectKind;

// Forgets everything a real job reports, so that the lie decides what is said.
class Silent final : public Reporter {
 public:
  Result<void> Progress(std::uint64_t, std::uint64_t) override { return {}; }
  Result<void> Object(ObjectKind, const policy::Digest&, std::uint64_t) override { return {}; }
  Result<void> Observe(std::uint32_t, policy::EntryKind, std::uint64_t, const policy::Digest&,
                       std::string_view) override {
    return {};
  }
  Result<void> Warn(policy::SnapshotWarning, std::string_view) override { return {}; }
  Result<void> Facts(const policy::ImageFacts&) override { return {}; }
};

std::string LieOf(const Inputs& inputs) {
  const int fd =
      inputs.archive >= 0 ? inputs.archive : openat(inputs.in, "lie", O_RDONLY | O_CLOEXEC);
  const auto text = ipc::ReadToEnd(fd, 4096, "lie");
  return text.ok() ? *text : "";
}

void Put(int out, const std::string& name, const std::string& bytes) {
  const ipc::Fd file(openat(out, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  static_cast<void>(ipc::WriteAll(file.get(), bytes, name));
}

// The words a hijacked helper can send past its own session.
void Say(const wire::FromSnapshotter& message) {
  static_cast<void>(ipc::SendMessage(ipc::kChannelFd, message));
}

// A complete small import whose parts the lie then bends.
Result<JobResult> FalseImport(const std::string& lie, int out, Reporter& reporter) {
  const std::string blob = "honest";
  const policy::Digest blob_id = policy::Hash(blob);
  const policy::Digest tree = policy::HashDomain("bailiff.tree.v1", "bailiff.tree.v1\n");
  const std::string revision =
      policy::DirectoryRevision(lie == "revision of another tree" ? policy::Hash("other") : tree);
  const policy::Digest revision_id = policy::HashDomain("bailiff.revision.v1", revision);
  const std::string name = policy::StagedName(ObjectKind::kBlob, blob_id);
  std::uint64_t size = blob.size();
  if (lie == "other bytes under the name") {
    Put(out, name, "hacked");
  } else if (lie == "a link under the name") {
    if (symlinkat("/etc/passwd", out, name.c_str()) != 0) return SystemError("symlinkat", name);
  } else if (lie == "a directory under the name") {
    if (mkdirat(out, name.c_str(), 0755) != 0) return SystemError("mkdirat", name);
  } else if (lie == "a second name of the file") {
    Put(out, name, blob);
    if (linkat(out, name.c_str(), out, "second", 0) != 0) return SystemError("linkat", name);
  } else if (lie == "another size") {
    Put(out, name, blob);
    size = 5;
  } else if (lie != "nothing under the name") {
    Put(out, name, blob);
  }
  Put(out, policy::StagedName(ObjectKind::kTree, tree), "bailiff.tree.v1\n");
  Put(out, policy::StagedName(ObjectKind::kRevision, revision_id), revision);
  BAILIFF_TRY(reporter.Object(ObjectKind::kBlob, blob_id, size));
  BAILIFF_TRY(reporter.Object(ObjectKind::kTree, tree, 16));
  if (lie == "two trees")
    BAILIFF_TRY(reporter.Object(ObjectKind::kTree, policy::Hash("second"), 16));
  if (lie != "no revision")
    BAILIFF_TRY(reporter.Object(ObjectKind::kRevision, revision_id, revision.size()));
  if (lie == "a layer in a source") BAILIFF_TRY(reporter.Object(ObjectKind::kLayer, tree, 1));
  if (lie == "too many objects") {
    for (int i = 0; i < 11'000; ++i)
      BAILIFF_TRY(reporter.Object(ObjectKind::kBlob, policy::Hash(std::to_string(i)), 1));
  }
  JobResult result{revision_id, tree, 1, blob.size()};
  if (lie == "git ids of a directory") result.git = policy::GitCommit{};
  return result;
}

// What was staged holds; what it is said to come from does not. The commit that was asked for holds
// one file of one byte.
Result<JobResult> FalseGit(const std::string& lie, const Order& order, int out,
                           Reporter& reporter) {
  const std::string blob = lie == "git: files of another commit" ? "y" : "x";
  const policy::Digest blob_id = policy::Hash(blob);
  TreeBuilder builder(policy::kSourceBounds, policy::TreeNames::kSource);
  const EntryKind kind =
      lie == "git: an execute bit more" ? EntryKind::kExecutable : EntryKind::kFile;
  if (lie != "git: a file less")
    BAILIFF_TRY(builder.Add(kind, blob.size(), blob_id, lie == "git: another name" ? "b" : "a"));
  if (lie == "git: a file more") BAILIFF_TRY(builder.Add(kind, blob.size(), blob_id, "b"));
  const std::string tree = builder.Finish();
  policy::ObjectHasher hasher(ObjectKind::kTree);
  hasher.Update(tree);
  const policy::Digest tree_id = hasher.Finish();
  BAILIFF_TRY_ASSIGN(const policy::GitId file, HashGitObject(GitType::kBlob, "x"));
  BAILIFF_TRY_ASSIGN(const policy::GitId empty, HashGitObject(GitType::kTree, ""));
  BAILIFF_TRY_ASSIGN(
      const policy::GitId git_tree,
      HashGitObject(GitType::kTree, std::string("100644 a").append(1, '\0').append(file.raw())));
  std::string commit = "tree " + git_tree.hex() + "\n";
  std::vector<GitLeftOut> left;
  if (lie == "git: a tree of another commit") commit = "tree " + empty.hex() + "\n";
  if (lie == "git: a commit that names no tree") commit = "parent " + git_tree.hex() + "\n";
  if (lie == "git: a commit without end") commit.append(5 << 20, 'x');
  if (lie == "git: a submodule nobody left out") left.push_back({GitMode::kSubmodule, "b", file});
  if (lie == "git: a file as a submodule") left.push_back({GitMode::kSubmodule, "a", file});
  if (lie == "git: a file left out") left.push_back({GitMode::kFile, "b", file});
  if (lie == "git: a full tree left out") left.push_back({GitMode::kTree, "b", git_tree});
  if (lie == "git: a path twice") {
    left.push_back({GitMode::kTree, "b", empty});
    left.push_back({GitMode::kTree, "b", empty});
  }
  if (lie == "git: a path of no tree") left.push_back({GitMode::kTree, "../b", empty});
  if (lie == "git: a file and a tree of one name") left.push_back({GitMode::kTree, "a/b", empty});
  policy::GitCommit said;
  said.commit = policy::ParseGitId(order.commit).value_or(policy::GitId{});
  said.tree = git_tree;
  if (lie == "git: another commit") said.commit.bytes.fill(9);
  if (lie == "git: another tree of the commit") said.tree.bytes.fill(9);
  policy::GitCommit meant = said;
  if (lie == "git: a revision of another commit") meant.commit.bytes.fill(9);
  if (lie == "git: a revision of another git tree") meant.tree.bytes.fill(9);
  const std::string revision = policy::GitRevision(tree_id, meant);
  const policy::Digest id = policy::HashDomain("bailiff.revision.v1", revision);
  const std::string blob_name = policy::StagedName(ObjectKind::kBlob, blob_id);
  if (lie == "git: a blob with other bytes") {
    Put(out, blob_name, "z");
  } else if (lie == "git: a blob that is a FIFO") {
    if (mknodat(out, blob_name.c_str(), S_IFIFO | 0644, 0) != 0)
      return SystemError("mknodat", blob_name);
  } else if (lie == "git: a blob that is a link") {
    Put(out, "x", blob);
    if (symlinkat("x", out, blob_name.c_str()) != 0) return SystemError("symlinkat", blob_name);
  } else if (lie != "git: a blob that is not there") {
    Put(out, blob_name, blob);
  }
  Put(out, policy::StagedName(ObjectKind::kTree, tree_id), tree);
  Put(out, policy::StagedName(ObjectKind::kRevision, id), revision);
  if (lie != "git: no proof") BAILIFF_TRY(StageGitProof(out, commit, left));
  const bool bends = lie == "git: half a proof" || lie == "git: a list that is cut";
  if (bends && unlinkat(out, "git-left-out", 0) != 0)
    return SystemError("unlinkat", "git-left-out");
  if (lie == "git: a list that is cut") Put(out, "git-left-out", "40000 b");
  BAILIFF_TRY(reporter.Object(ObjectKind::kBlob, blob_id, blob.size()));
  BAILIFF_TRY(reporter.Object(ObjectKind::kTree, tree_id, tree.size()));
  BAILIFF_TRY(reporter.Object(ObjectKind::kRevision, id, revision.size()));
  JobResult result{id, tree_id, 0, 0, said};
  if (lie == "git: no ids") result.git.reset();
  if (lie == "git: no commit") result.git->commit = {};
  return result;
}

// What a cleanup must remove although nobody could by name (case c07).
Result<JobResult> UnremovableTree(int out) {
  ipc::Fd at(openat(out, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < 1000; ++level) {
    if (mkdirat(at.get(), "d", 0700) != 0) return SystemError("mkdirat", "d");
    const ipc::Fd above = std::move(at);
    at = ipc::Fd(openat(above.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    Put(at.get(), "f", "x");
    if (fchmod(above.get(), level % 2 == 0 ? 0 : 0555) != 0) return SystemError("fchmod", "d");
  }
  return JobResult{};
}

Result<JobResult> FalseImage(const std::string& lie, int out, Reporter& reporter) {
  const policy::Digest diff_id = policy::Hash("no such layer");
  std::string config = policy::RootfsConfig(diff_id);
  if (mkdirat(out, "root", 0755) != 0) return SystemError("mkdirat", "root");
  const ipc::Fd root(openat(out, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Put(root.get(), "sh", "hacked");
  const ipc::Fd shell(openat(root.get(), "sh", O_RDONLY | O_CLOEXEC));
  if (lie == "image: another configuration") config = "{}";
  // Its own configuration, as of an OCI image: what it says is asked of another process.
  const bool own = lie == "image: layers of another image" || lie == "image: no facts";
  if (own) {
    const policy::Digest named = lie == "image: no facts" ? diff_id : policy::Hash("another");
    config = policy::RootfsConfig(named);
    config.insert(1, "\"author\":\"" + lie + "\",");
  }
  Put(out, "config.json", config);
  if (lie == "image: a file too many") Put(out, "extra", "x");
  if (lie == "image: setuid in the root" && fchmod(shell.get(), 04755) != 0)
    return SystemError("fchmod", "sh");
  BAILIFF_TRY(reporter.Object(ObjectKind::kLayer, diff_id, 1));
  policy::Digest image = policy::Hash(own ? config : policy::RootfsConfig(diff_id));
  if (lie == "image: another id") image = policy::Hash("a trusted image");
  return JobResult{image, {}, 1, 6};
}

// `text`: the configuration that FalseImage left.
Result<JobResult> FalseFacts(const std::string& text, int config, Reporter& reporter) {
  if (text.find("no facts") == std::string::npos) return ReadImageConfig(config, reporter);
  BAILIFF_TRY(reporter.Object(ObjectKind::kLayer, policy::Hash("no such layer"), 0));
  return JobResult{policy::Hash(text), {}, 0, text.size()};
}

Result<JobResult> FalseLayer(const std::string& lie, int out, Reporter& reporter) {
  const std::string bytes(1024, '\0');
  const policy::Digest honest = policy::Hash(bytes);
  if (lie == "layer: a link") {
    if (symlinkat("/etc/passwd", out, "layer.tar") != 0) return SystemError("symlinkat", "layer");
  } else if (lie != "layer: nothing") {
    Put(out, "layer.tar", bytes);
  }
  const policy::Digest said = lie == "layer: other bytes" ? policy::Hash("another") : honest;
  BAILIFF_TRY(reporter.Object(lie == "layer: a blob" ? ObjectKind::kBlob : ObjectKind::kLayer, said,
                              lie == "layer: another size" ? 512 : bytes.size()));
  return JobResult{lie == "layer: two digests" ? policy::Hash("another") : said, {}, 1, 1024};
}

// Bends a tree that was written as it should be.
Result<JobResult> FalseTree(const std::string& lie, const Order& order, const Inputs& inputs,
                            Reporter& reporter) {
  BAILIFF_TRY_ASSIGN(JobResult result,
                     Materialize(inputs.in, inputs.out, order.tree, kSnapshotModes,
                                 {order.part, order.parts}, reporter));
  if (order.part != 0) return result;
  const int out = inputs.out;
  if (lie == "tree: other bytes") {
    const ipc::Fd file(openat(out, "a", O_RDONLY | O_CLOEXEC));
    if (fchmod(file.get(), 0644) != 0) return SystemError("fchmod", "a");
    Put(out, "a", "evil");
    if (fchmod(file.get(), 0444) != 0) return SystemError("fchmod", "a");
  }
  if (lie == "tree: one file more") {
    Put(out, "more", "x");
    const ipc::Fd file(openat(out, "more", O_RDONLY | O_CLOEXEC));
    if (fchmod(file.get(), 0444) != 0) return SystemError("fchmod", "more");
  }
  if (lie == "tree: an empty directory" && mkdirat(out, "empty", 0755) != 0)
    return SystemError("mkdirat", "empty");
  if (lie == "tree: a writable file") Put(out, "a2", "x");
  if (lie == "tree: setuid") {
    const ipc::Fd file(openat(out, "a", O_RDONLY | O_CLOEXEC));
    if (fchmod(file.get(), 04555) != 0) return SystemError("fchmod", "a");
  }
  if (lie == "tree: executable") {
    const ipc::Fd file(openat(out, "a", O_RDONLY | O_CLOEXEC));
    if (fchmod(file.get(), 0555) != 0) return SystemError("fchmod", "a");
  }
  return result;
}

// Says a tree that is not the one that was asked for. Only the digest of all of it tells.
Result<JobResult> FalseListing(const std::string& lie, const Order& order, const Inputs& inputs,
                               Reporter& reporter) {
  const auto say = [&](std::uint32_t index, const std::string& path, const std::string& bytes) {
    return reporter.Observe(index, EntryKind::kFile, bytes.size(), policy::Hash(bytes), path);
  };
  if (lie == "listing: nothing") return JobResult{order.tree, order.tree, 0, 0};
  if (lie == "listing: another name") BAILIFF_TRY(say(0, "c", "good"));
  if (lie == "listing: other bytes") BAILIFF_TRY(say(0, "a", "evil"));
  if (lie == "listing: out of turn") BAILIFF_TRY(say(1, "a", "good"));
  if (lie == "listing: no path") BAILIFF_TRY(say(0, "", "good"));
  if (lie == "listing: a path too long") BAILIFF_TRY(say(0, std::string(4096, 'a'), "good"));
  if (lie == "listing: one entry more") {
    BAILIFF_TRY(ListTree(inputs.in, order.tree, reporter));
    BAILIFF_TRY(say(2, "z", "more"));
  }
  if (lie == "listing: too many") {
    for (std::uint32_t i = 0; i <= 10'000; ++i) BAILIFF_TRY(say(i, "a", "good"));
  }
  return JobResult{order.tree, order.tree, 2, 8};
}

Result<JobResult> LieInProtocol(const std::string& lie, Reporter& reporter) {
  wire::FromSnapshotter message;
  if (lie == "protocol: an observation") {
    message.mutable_observation()->set_index(1);
    Say(message);
  }
  if (lie == "protocol: an entry of a listing") {
    wire::Observation* entry = message.mutable_observation();
    entry->set_index(0);
    entry->set_state('f');
    entry->set_digest(std::string(32, 'd'));
    entry->set_size(1);
    entry->set_path("a");
    Say(message);
  }
  if (lie == "protocol: a second hello") {
    message.mutable_hello()->set_protocol(ipc::kProtocol);
    Say(message);
  }
  if (lie == "protocol: an unknown fault") {
    message.mutable_failed()->set_code(9999);
    Say(message);
  }
  if (lie == "protocol: an unknown warning") {
    message.mutable_warning()->set_code(9999);
    Say(message);
  }
  if (lie == "protocol: no last word") _exit(0);
  if (lie == "protocol: crash") __builtin_trap();
  if (lie == "protocol: too many warnings") {
    for (int i = 0; i < 1100; ++i) {
      message.mutable_warning()->set_code(1);
      Say(message);
    }
  }
  if (lie == "call: a socket") open("/nowhere", O_RDONLY | O_CLOEXEC);
  if (lie == "call: a process") static_cast<void>(fork());
  static_cast<void>(reporter.Progress(1, 1));
  return JobResult{};
}

Result<JobResult> Run(const Order& order, const Inputs& inputs, Reporter& reporter) {
  const std::string lie = LieOf(inputs);
  Silent silent;
  if (lie.starts_with("protocol: ") || lie.starts_with("call: "))
    return LieInProtocol(lie, reporter);
  switch (order.job) {
    case Job::kMaterialize:
      return FalseTree(lie, order, inputs, reporter);
    case Job::kListTree:
      return FalseListing(lie, order, inputs, reporter);
    case Job::kExport:
      return Materialize(inputs.in, inputs.out, order.tree, kExportModes, {0, 1}, reporter);
    case Job::kVerifySource:
      // What was read of the tree may have hijacked it; it still does not know which digest is
      // wanted.
      return VerifyTree(inputs.in, VerifyProfile::kSource, reporter);
    case Job::kVerifyImage:
      return VerifyTree(inputs.in, VerifyProfile::kImage, reporter);
    case Job::kImportDirectory:
      if (lie == "c07 a tree nobody can remove by name") return UnremovableTree(inputs.out);
      return FalseImport(lie, inputs.out, reporter);
    case Job::kImportImage:
      return FalseImage(lie, inputs.out, reporter);
    case Job::kImportGit:
      return FalseGit(lie, order, inputs.out, reporter);
    case Job::kVerifyGit:
      // A fresh process that has read nothing of the repository: the real one.
      return VerifyGit(inputs.in, order.tree, order.skip_submodules, reporter);
    case Job::kExportGit:
      return JobResult{};
    case Job::kReadImageConfig:
      return FalseFacts(lie, inputs.archive, reporter);
    case Job::kExportImage:
      return FalseLayer(lie, inputs.out, reporter);
  }
  return JobResult{};
}

}  // namespace
}  // namespace bailiff::snapshotter

int main() {
  if (!bailiff::snapshotter::InitialiseGit().ok()) return 1;
  return bailiff::snapshotter::HelperMain(bailiff::policy::Role::LIAR_ROLE,
                                          bailiff::snapshotter::Run);
}
