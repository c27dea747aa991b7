// SPDX-License-Identifier: Apache-2.0
// What the tests of sources and images share: directories that go away, a reporter that remembers,
// tars made from a table, and a data directory with real helpers.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ipc/fd.h"
#include "policy/object.h"
#include "snapshotter/reporter.h"

namespace bailiff::test {

// An empty directory of its own below the test's temporary directory, removed with everything in
// it.
class TempDirectory {
 public:
  TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory();

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  void Write(const std::string& name, const std::string& bytes, mode_t mode = 0644) const;
  void MakeDirectory(const std::string& name, mode_t mode = 0755) const;
  void Link(const std::string& name, const std::string& target) const;

 private:
  std::string path_;
  ipc::Fd fd_;
};

class Recorder final : public snapshotter::Reporter {
 public:
  Result<void> Progress(std::uint64_t entries, std::uint64_t bytes) override;
  Result<void> Object(policy::ObjectKind kind, const policy::Digest& digest,
                      std::uint64_t size) override;
  Result<void> Observe(std::uint32_t index, policy::EntryKind kind, std::uint64_t size,
                       const policy::Digest& blob, std::string_view path) override;
  Result<void> Warn(policy::SnapshotWarning code, std::string_view path) override;

  Result<void> Facts(const policy::ImageFacts& said) override;

  std::vector<std::string> objects;  // staged names
  std::vector<policy::ImageFacts> facts;
  std::vector<std::pair<policy::SnapshotWarning, std::string>> warnings;
  std::vector<std::string> observed;  // "0 f 2 path"
  std::uint64_t calls = 0;
  std::uint64_t cancel_at = 0;  // the call of Progress that is answered with kCancelled
  std::function<void(std::uint64_t)> on_progress;  // given the number of the call
};

// "" when it succeeded, else the code of its error.
template <class T>
std::string CodeOf(const Result<T>& result) {
  return result.ok() ? "" : std::string(Info(result.error().code).name);
}
// For a failed assertion.
template <class T>
std::string Why(const Result<T>& result) {
  return result.ok() ? ""
                     : std::string(Info(result.error().code).name) + ": " + result.error().subject +
                           ": " + result.error().why;
}

// One member of a tar.
struct TarMember {
  char type = '0';
  std::string name;
  std::string data = {};  // of a file; the target of a link
  unsigned mode = 0644;
  std::vector<std::pair<std::string, std::string>> pax =
      {};                       // records of an extended header before it
  std::string size_field = {};  // written as it is, instead of the size of `data`
};
std::string TarHeader(const TarMember& member);
// With the end of archive.
std::string MakeTar(const std::vector<TarMember>& members);

// All below `path`: name → "f 0644 bytes", "l target", "d 0755", for comparing.
std::map<std::string, std::string> Listing(const std::string& path);
std::string ReadAll(const std::string& path);

}  // namespace bailiff::test
