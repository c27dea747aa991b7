// SPDX-License-Identifier: Apache-2.0
// Git repositories made from tables, good and bad: loose objects written without git, so that what
// git would never write can be written too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/git_name.h"
#include "tests/unit/snapshotter/support.h"

namespace bailiff::test {

struct GitTreeEntry {
  std::string mode;
  std::string name;
  policy::GitId id;
};

// The bytes of a tree with these entries, in the order given.
std::string GitTreeBytes(const std::vector<GitTreeEntry>& entries);
// The id that git gives an object. `type`: "blob", …
policy::GitId GitIdOf(std::string_view type, std::string_view bytes);

class GitRepository {
 public:
  // An empty repository: bare, or with everything below `.git`.
  explicit GitRepository(bool bare = false);

  const TempDirectory& directory() const { return directory_; }
  std::string path() const { return directory_.path(); }
  int fd() const { return directory_.fd(); }
  // A name below the directory that git keeps its own in.
  std::string Own(const std::string& name) const { return prefix_ + name; }
  void Write(const std::string& name, const std::string& bytes) const {
    directory_.Write(Own(name), bytes);
  }

  policy::GitId Add(const std::string& type, const std::string& bytes) const;
  policy::GitId Blob(const std::string& bytes) const { return Add("blob", bytes); }
  policy::GitId Tree(const std::vector<GitTreeEntry>& entries) const {
    return Add("tree", GitTreeBytes(entries));
  }
  // A commit of this tree; HEAD's branch then leads to it.
  policy::GitId Commit(const policy::GitId& tree) const;
  // Writes bytes as the loose object of an id, whatever they are; `header` is what stands before
  // them.
  void Plant(const policy::GitId& id, const std::string& header, const std::string& bytes) const;
  std::string LooseName(const policy::GitId& id) const;

 private:
  TempDirectory directory_;
  std::string prefix_;
};

}  // namespace bailiff::test
