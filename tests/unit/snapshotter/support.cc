// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/snapshotter/support.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "controller/store/files.h"

namespace bailiff::test {
namespace {

// The tests run under the controller's umask; what they prepare is an operator's tree.
class OperatorUmask {
 public:
  OperatorUmask() : old_(umask(022)) {}
  OperatorUmask(const OperatorUmask&) = delete;
  OperatorUmask& operator=(const OperatorUmask&) = delete;
  ~OperatorUmask() { umask(old_); }

 private:
  mode_t old_;
};

}  // namespace

TempDirectory::TempDirectory() {
  std::string pattern = testing::TempDir() + "bailiff-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
  if (chmod(path_.c_str(), 0755) != 0) std::abort();  // a helper reads it as "others"
  fd_ = ipc::Fd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

TempDirectory::~TempDirectory() {
  fd_.reset();
  const std::size_t slash = path_.rfind('/');
  const ipc::Fd above(open(path_.substr(0, slash).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto removed = controller::RemoveTree(above.get(), path_.c_str() + slash + 1);
  EXPECT_TRUE(removed.ok()) << Why(removed);
}

void TempDirectory::Write(const std::string& name, const std::string& bytes, mode_t mode) const {
  const OperatorUmask operators;
  const std::string path = *this / name;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  ASSERT_EQ(chmod(path.c_str(), mode), 0) << path;
}

void TempDirectory::MakeDirectory(const std::string& name, mode_t mode) const {
  const OperatorUmask operators;
  std::filesystem::create_directories(*this / name);
  ASSERT_EQ(chmod((*this / name).c_str(), mode), 0);
}

void TempDirectory::Link(const std::string& name, const std::string& target) const {
  ASSERT_EQ(symlink(target.c_str(), (*this / name).c_str()), 0);
}

Result<void> Recorder::Progress(std::uint64_t, std::uint64_t) {
  ++calls;
  if (on_progress) on_progress(calls);
  if (calls == cancel_at)
    return policy::MakeFault(policy::SnapshotFault::kCancelled, "job", "cancelled");
  return {};
}

Result<void> Recorder::Object(policy::ObjectKind kind, const policy::Digest& digest,
                              std::uint64_t) {
  objects.push_back(policy::StagedName(kind, digest));
  return {};
}

Result<void> Recorder::Observe(std::uint32_t index, policy::EntryKind kind, std::uint64_t size,
                               const policy::Digest&, std::string_view path) {
  observed.push_back(std::to_string(index) + " " + static_cast<char>(kind) + " " +
                     std::to_string(size) + " " + std::string(path));
  return {};
}

Result<void> Recorder::Warn(policy::SnapshotWarning code, std::string_view path) {
  warnings.emplace_back(code, path);
  return {};
}

Result<void> Recorder::Facts(const policy::ImageFacts& said) {
  facts.push_back(said);
  return {};
}

namespace {

void Put(std::string& block, std::size_t offset, std::size_t width, const std::string& text) {
  block.replace(offset, std::min(width, text.size()), text, 0, width);
}

std::string Octal(std::uint64_t value, int width) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*llo", width - 1, static_cast<unsigned long long>(value));
  return text;
}

std::string PaxRecord(const std::string& key, const std::string& value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest;
  while (std::to_string(length).size() + rest != length) ++length;
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

std::string Padded(std::string bytes) {
  bytes.resize((bytes.size() + 511) / 512 * 512);
  return bytes;
}

bool HasData(char type) {
  return type == '0' || type == '\0' || type == '7' || type == 'x' || type == 'g' || type == 'L' ||
         type == 'K';
}

}  // namespace

std::string TarHeader(const TarMember& member) {
  std::string block(512, '\0');
  Put(block, 0, 100, member.name);
  Put(block, 100, 8, Octal(member.mode, 8));
  Put(block, 108, 8, Octal(0, 8));
  Put(block, 116, 8, Octal(0, 8));
  Put(block, 124, 12,
      member.size_field.empty() ? Octal(HasData(member.type) ? member.data.size() : 0, 12)
                                : member.size_field);
  Put(block, 136, 12, Octal(0, 12));
  block[156] = member.type;
  if (!HasData(member.type)) Put(block, 157, 100, member.data);
  Put(block, 257, 8,
      std::string("ustar\0"
                  "00",
                  8));
  unsigned sum = 8 * ' ';
  for (const char byte : block) sum += static_cast<unsigned char>(byte);
  Put(block, 148, 8, Octal(sum, 7) + std::string("\0 ", 2));
  return block;
}

std::string MakeTar(const std::vector<TarMember>& members) {
  std::string tar;
  for (const TarMember& member : members) {
    if (!member.pax.empty()) {
      std::string records;
      for (const auto& [key, value] : member.pax) records += PaxRecord(key, value);
      tar += TarHeader({'x', "pax", records}) + Padded(records);
    }
    tar += TarHeader(member);
    if (HasData(member.type)) tar += Padded(member.data);
  }
  return tar + std::string(1024, '\0');
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> Listing(const std::string& path) {
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    const std::string name = entry.path().string().substr(path.size() + 1);
    struct stat status;
    EXPECT_EQ(lstat(entry.path().c_str(), &status), 0);
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", status.st_mode & 07777);
    if (S_ISLNK(status.st_mode)) {
      found[name] = "l " + std::filesystem::read_symlink(entry.path()).string();
    } else if (S_ISDIR(status.st_mode)) {
      found[name] = std::string("d ") + mode;
    } else {
      found[name] = std::string("f ") + mode + " " + ReadAll(entry.path());
    }
  }
  return found;
}

}  // namespace bailiff::test
