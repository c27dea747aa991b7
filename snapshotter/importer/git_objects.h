// SPDX-License-Identifier: Apache-2.0
// Objects of a git repository, as the decoders ask for them. The only implementation outside tests
// is GitStore (git_store.h); fuzzing has one in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "ipc/result.h"
#include "policy/git_name.h"

namespace bailiff::snapshotter {

enum class GitType : std::uint8_t { kCommit, kTree, kBlob, kTag };

struct GitHeader {
  GitType type = GitType::kBlob;
  std::uint64_t size = 0;
};

// The bytes of one object, owned, and freed the way they were made. Moves; not empty unless moved
// from.
class GitObject {
 public:
  using Free = void (*)(void*);
  GitObject(void* owner, Free free, GitHeader header, std::string_view bytes)
      : owner_(owner, free), header_(header), bytes_(bytes) {}

  const GitHeader& header() const { return header_; }
  std::string_view bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, Free> owner_;
  GitHeader header_;
  std::string_view bytes_;
};

class GitObjects {
 public:
  GitObjects() = default;
  GitObjects(const GitObjects&) = delete;
  GitObjects& operator=(const GitObjects&) = delete;
  virtual ~GitObjects() = default;

  // Type and size without the bytes: asked first, so that a bound is judged before memory is taken.
  // Errors: kGitObjectMissing, kGitObjectDamaged, kMemory, kUnreadable.
  virtual Result<GitHeader> Header(const policy::GitId& id) = 0;
  // The whole object. What comes back has this id's SHA-1, or it is an error as above.
  virtual Result<GitObject> Read(const policy::GitId& id) = 0;
};

// An object of this type and of at most `most` bytes: kGitObjectType when it is another,
// kGitObjectDamaged when it is larger than any honest one.
Result<GitObject> ReadGitObject(GitObjects& objects, const policy::GitId& id, GitType type,
                                std::uint64_t most);

std::string_view GitTypeName(GitType type);  // "commit", …

}  // namespace bailiff::snapshotter
