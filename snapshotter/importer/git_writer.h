// SPDX-License-Identifier: Apache-2.0
// Writes loose objects and the few files of a bare repository into a new directory
// (gitrepository-layout(5)).
#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "ipc/fd.h"
#include "snapshotter/importer/git_objects.h"

namespace bailiff::snapshotter {

class GitWriter {
 public:
  explicit GitWriter(int repository);
  GitWriter(const GitWriter&) = delete;
  GitWriter& operator=(const GitWriter&) = delete;
  ~GitWriter();

  // The directories that make it a repository, HEAD and a configuration that says bare.
  Result<void> Begin();
  // One object, once; its id.
  Result<policy::GitId> Put(GitType type, std::string_view bytes);
  // `name`: a full ref.
  Result<void> PutRef(const std::string& name, const policy::GitId& id);

 private:
  Result<void> MakeDirectory(const std::string& name);
  Result<ipc::Fd> Create(const std::string& name, unsigned mode);
  Result<void> WriteFile(const std::string& name, std::string_view bytes);

  int repository_;
  std::set<policy::GitId> known_;
  std::array<bool, 256> shelves_{};
  std::unique_ptr<char[]> buffer_;
};

}  // namespace bailiff::snapshotter
