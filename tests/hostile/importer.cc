// SPDX-License-Identifier: Apache-2.0
// A hijacked importer: it stages false objects (names that are not their digest, claims without
// objects, objects without claims, links), or tries what no job may: to reach out of its view, to
// change what it reads, to exceed its bounds, to leave a way to write behind.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "snapshotter/helper_main.h"
#include "snapshotter/importer/directory.h"
#include "snapshotter/importer/export.h"
#include "snapshotter/importer/git_export.h"
#include "snapshotter/importer/git_import.h"
#include "snapshotter/importer/git_store.h"
#include "snapshotter/importer/git_verify.h"
#include "snapshotter/importer/image.h"
#include "tests/hostile/mode.h"
#include "tests/hostile/snapshot_lies.h"
#include "tests/support/send_descriptor.h"

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

// What was to be refused and was not; empty when all was.
class Escape {
 public:
  explicit Escape(const Inputs& inputs) : inputs_(inputs) {}

  std::string Try() {
    Reach();
    if (inputs_.in >= 0) ChangeInput();
    if (inputs_.archive >= 0) {
      Refused(write(inputs_.archive, "x", 1), "write to the archive");
      Refused(fchmod(inputs_.archive, 0666), "chmod the archive");
    }
    if (inputs_.out >= 0) LeadOut();
    return found_;
  }

 private:
  void Refused(long result, const std::string& what) {
    if (result < 0) return;
    if (!found_.empty()) found_ += ", ";
    found_ += what;
  }

  // Names of the host, and the ways up.
  void Reach() {
    for (const char* path :
         {"/etc/passwd", "/proc/self/fd", "/proc/1/root", "/data", "/data/state.sqlite",
          "/sys/fs/cgroup", "/dev/null", "..", "../data", "../../etc/passwd"}) {
      for (const int flags : {O_RDONLY, O_RDWR, O_PATH}) {
        // The root of a view is empty but for the job's own mounts, and so is what is above it.
        if (std::string_view(path) == "..") continue;
        Refused(openat(AT_FDCWD, path, flags | O_CLOEXEC), std::string("open ") + path);
        for (const int fd : {inputs_.in, inputs_.out}) {
          if (fd >= 0 && path[0] == '.')
            Refused(openat(fd, path, flags | O_CLOEXEC), std::string("open from the job ") + path);
        }
      }
    }
    Refused(openat(AT_FDCWD, "/made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600),
            "make a file in the root");
    Refused(mkdirat(AT_FDCWD, "/made", 0700), "make a directory in the root");
  }

  // Whatever the modes and owners of what it reads are: the mount is read-only.
  void ChangeInput() {
    const int in = inputs_.in;
    Refused(openat(in, "made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), "make a file in the input");
    Refused(openat(in, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), "a nameless file in the input");
    Refused(mkdirat(in, "made", 0700), "make a directory in the input");
    Refused(symlinkat("x", in, "made"), "make a link in the input");
    Refused(fchmod(in, 0777), "chmod the input");
    for (const char* name : {"f", "blob", "tree", "bin", "bin/busybox", "HEAD", "objects"}) {
      Refused(openat(in, name, O_WRONLY | O_CLOEXEC), std::string("write to ") + name);
      Refused(openat(in, name, O_RDWR | O_TRUNC | O_CLOEXEC), std::string("cut ") + name);
      Refused(unlinkat(in, name, 0), std::string("remove ") + name);
      Refused(unlinkat(in, name, AT_REMOVEDIR), std::string("remove directory ") + name);
      Refused(renameat(in, name, in, "made"), std::string("rename ") + name);
      Refused(linkat(in, name, in, "made", 0), std::string("link ") + name);
      if (inputs_.out >= 0) {
        // A second name of what it reads, where it may write, would be a way to change it.
        Refused(linkat(in, name, inputs_.out, "made", 0), std::string("link out ") + name);
        Refused(renameat(in, name, inputs_.out, "made"), std::string("move out ") + name);
      }
      const int fd = openat(in, name, O_RDONLY | O_CLOEXEC);
      if (fd >= 0) Refused(fchmod(fd, 0777), std::string("chmod ") + name);
      if (fd >= 0) close(fd);
    }
  }

  // Links that it makes lead nowhere for it, either.
  void LeadOut() {
    const int out = inputs_.out;
    for (const char* target : {"/in", "..", "/data", "../../images"}) {
      if (symlinkat(target, out, "lead") != 0) continue;
      Refused(openat(out, "lead", O_RDONLY | O_CLOEXEC), std::string("follow ") + target);
      Refused(openat(out, "lead/made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600),
              std::string("write through ") + target);
      unlinkat(out, "lead", 0);
    }
    Refused(renameat(out, "..", out, "made"), "rename the parent");
  }

  const Inputs& inputs_;
  std::string found_;
};

// Goes on until somebody ends it.
Result<JobResult> Flood(const std::string& mode, int out) {
  std::vector<int> kept;
  const std::string bytes(1 << 20, 'x');
  for (int i = 0;; ++i) {
    const std::string name = "flood" + std::to_string(i);
    if (mode == "flood-entries") {
      const int fd = openat(out, name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      if (fd >= 0) close(fd);
    } else if (mode == "flood-deep") {
      if (mkdirat(out, "d", 0700) != 0)
        return policy::MakeFault(policy::SnapshotFault::kIo, "d", "mkdirat", errno);
      const int below = openat(out, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (below >= 0) out = below;  // the one above stays open: 1000 of them
    } else if (mode == "flood-memory") {
      void* memory =
          mmap(nullptr, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED)
        return policy::MakeFault(policy::SnapshotFault::kMemory, "", "none left");
      std::memset(memory, 1, 64 << 20);
    } else {
      // One file as large as it may be, then the next: with names, or without.
      const int fd = mode == "flood-nameless"
                         ? openat(out, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
                         : openat(out, name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      for (int part = 0; fd >= 0 && part < 100; ++part) {
        if (write(fd, bytes.data(), bytes.size()) <= 0) break;
      }
      if (mode != "flood-nameless" && fd >= 0) close(fd);
    }
  }
}

// A descriptor that it may write through, sent where it would outlive it.
void SendDescriptor(int out) {
  const int fd = openat(out, "kept", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::string progress("\0\0\0\2\x12\0", 6);  // an empty one
  static_cast<void>(test::SendDescriptor(ipc::kChannelFd, progress, fd));
}

Result<JobResult> Work(const Order& order, const Inputs& inputs, Reporter& reporter) {
  const std::string mode = hostile::Mode();
  switch (order.job) {
    case Job::kReadImageConfig:
      return ReadImageConfig(inputs.archive, reporter);
    case Job::kImportImage: {
      auto done = ImportImage({inputs.in, inputs.archive}, inputs.out, order.format, reporter);
      if (done.ok() && mode == "image-other-id") done->digest = policy::Hash("another image");
      if (done.ok() && mode == "image-other-config") {
        static_cast<void>(unlinkat(inputs.out, "config.json", 0));
        WriteFile(inputs.out, "config.json", "{}");
      }
      if (done.ok() && mode == "image-no-config")
        static_cast<void>(unlinkat(inputs.out, "config.json", 0));
      if (done.ok() && mode == "image-extra-layer")
        BAILIFF_TRY(reporter.Object(ObjectKind::kLayer, policy::Hash("another"), 1));
      if (done.ok() && mode == "image-extra-file") WriteFile(inputs.out, "complete", "{}");
      if (done.ok() && mode == "image-verified") WriteFile(inputs.out, "verified", "1:1\n");
      return done;
    }
    case Job::kImportGit: {
      BAILIFF_TRY_ASSIGN(
          JobResult done,
          ImportGit(inputs.in, "/in", inputs.out, {order.commit, order.skip_submodules}, reporter));
      if (mode == "git-other-commit") done.git->commit.bytes[0] ^= 1;
      if (mode == "git-other-tree") done.git->tree.bytes[0] ^= 1;
      return done;
    }
    case Job::kVerifyGit:
      return VerifyGit(inputs.in, order.tree, order.skip_submodules, reporter);
    case Job::kExportGit:
      return ExportGit(
          inputs.in, inputs.out,
          {order.tree, order.revision, order.as_commit ? GitForm::kCommit : GitForm::kTree},
          reporter);
    case Job::kExportImage: {
      BAILIFF_TRY_ASSIGN(JobResult done, ExportImage(inputs.in, inputs.out, reporter));
      if (mode == "layer-other") done.digest = policy::Hash("another layer");
      return done;
    }
    default:
      return ImportAndLie(inputs, reporter);
  }
}

Result<JobResult> Run(const Order& order, const Inputs& inputs, Reporter& reporter) {
  const std::string mode = hostile::Mode();
  if (mode == "escape") {
    if (const std::string found = Escape(inputs).Try(); !found.empty())
      return Error{ErrorCode::kDecode, "ESCAPED", found.substr(0, 900), 0, {}};
  }
  if (mode.starts_with("flood-") && inputs.out >= 0) return Flood(mode, inputs.out);
  if (mode == "send-descriptor" && inputs.out >= 0) SendDescriptor(inputs.out);
  return Work(order, inputs, reporter);
}

}  // namespace
}  // namespace bailiff::snapshotter

int main() {
  if (!bailiff::snapshotter::InitialiseGit().ok()) return 1;
  bailiff::hostile::BreakProtocol(bailiff::policy::Role::kImporter, bailiff::hostile::Mode());
  return bailiff::snapshotter::HelperMain(bailiff::policy::Role::kImporter,
                                          bailiff::snapshotter::Run);
}
