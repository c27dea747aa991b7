// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/snapshotter/git_repository.h"

#include <gtest/gtest.h>
#include <openssl/sha.h>
#include <zlib.h>

namespace bailiff::test {
namespace {

std::string Deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  EXPECT_EQ(compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                      reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 1),
            Z_OK);
  out.resize(size);
  return out;
}

std::string Header(std::string_view type, std::size_t size) {
  return std::string(type) + " " + std::to_string(size) + '\0';
}

}  // namespace

std::string GitTreeBytes(const std::vector<GitTreeEntry>& entries) {
  std::string bytes;
  for (const GitTreeEntry& entry : entries)
    bytes += entry.mode + " " + entry.name + '\0' + std::string(entry.id.raw());
  return bytes;
}

policy::GitId GitIdOf(std::string_view type, std::string_view bytes) {
  const std::string all = Header(type, bytes.size()).append(bytes);
  policy::GitId id;
  SHA1(reinterpret_cast<const unsigned char*>(all.data()), all.size(), id.bytes.data());
  return id;
}

GitRepository::GitRepository(bool bare) : prefix_(bare ? "" : ".git/") {
  Write("HEAD", "ref: refs/heads/main\n");
  directory_.MakeDirectory(Own("objects/pack"));
  directory_.MakeDirectory(Own("refs/heads"));
}

std::string GitRepository::LooseName(const policy::GitId& id) const {
  const std::string hex = id.hex();
  return Own("objects/" + hex.substr(0, 2) + "/" + hex.substr(2));
}

void GitRepository::Plant(const policy::GitId& id, const std::string& header,
                          const std::string& bytes) const {
  directory_.Write(LooseName(id), Deflated(header + bytes));
}

policy::GitId GitRepository::Add(const std::string& type, const std::string& bytes) const {
  const policy::GitId id = GitIdOf(type, bytes);
  Plant(id, Header(type, bytes.size()), bytes);
  return id;
}

policy::GitId GitRepository::Commit(const policy::GitId& tree) const {
  const std::string who = "A <a@example.org> 1 +0000\n";
  const policy::GitId id = Add("commit", "tree " + tree.hex() +
                                             "\nparent 0123456789abcdef0123456789abcdef01234567"
                                             "\nauthor " +
                                             who + "committer " + who + "\nmessage\n");
  Write("refs/heads/main", id.hex() + "\n");
  return id;
}

}  // namespace bailiff::test
