// SPDX-License-Identifier: Apache-2.0
// Times what a first attempt on a revision pays for its tree: materialized by one process, verified
// by a second, in place.
//   snapshot_bench DIRECTORY [ROUNDS] [SCRATCH]     prints milliseconds of import, then of each
//   round
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "controller/store/files.h"
#include "controller/supervisor/objects.h"

namespace {

using bailiff::controller::JobHost;

constexpr uid_t kHelper = 1900000123;

double Milliseconds(auto since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since)
      .count();
}

// User and system time of this process and of the helpers it has reaped.
double CpuMilliseconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(part.tv_sec) * 1e3 + static_cast<double>(part.tv_usec) / 1e3;
  }
  return sum;
}

int Open(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) {
    std::perror(path.c_str());
    std::exit(1);
  }
  return fd;
}

template <class T>
T Take(bailiff::Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s: %s\n", result.error().subject.c_str(), result.error().why.c_str());
    std::exit(1);
  }
  return std::move(result).value();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2 || geteuid() != 0) {
    std::fprintf(stderr, "usage (as root): snapshot_bench DIRECTORY [ROUNDS] [SCRATCH]\n");
    return 64;
  }
  const int rounds = count > 2 ? std::atoi(arguments[2]) : 5;
  std::string data = std::string(count > 3 ? arguments[3] : "/tmp") + "/bailiff-bench-XXXXXX";
  if (mkdtemp(data.data()) == nullptr) return 1;
  for (const char* name : {"objects", "objects/blob", "objects/tree", "objects/revision", "trees",
                           "images", "staging"})
    std::filesystem::create_directory(data + "/" + name);
  JobHost host;
  host.data = Open(data, O_RDONLY | O_DIRECTORY);
  host.snapshotter =
      Open(std::string(BAILIFF_TEST_BINARY_DIR) + "/bin/bailiff-snapshotter", O_RDONLY);
  host.importer = Open(std::string(BAILIFF_TEST_BINARY_DIR) + "/bin/bailiff-importer", O_RDONLY);
  host.identity.uid_map = host.identity.gid_map = {{0, kHelper, 1}};
  host.identity.uid = host.identity.gid = kHelper;
  auto begin = std::chrono::steady_clock::now();
  if (!std::filesystem::is_directory(arguments[1])) {
    const auto image = Take(ImportImage(host, {Open(arguments[1], O_RDONLY), -1}, {}));
    std::printf("image %.0f ms, cpu %.0f ms: %llu entries, %llu bytes, %zu warnings\n",
                Milliseconds(begin), CpuMilliseconds(),
                static_cast<unsigned long long>(image.record.entries),
                static_cast<unsigned long long>(image.record.bytes), image.warnings.size());
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    std::printf("largest helper %ld KiB\n", usage.ru_maxrss);
    std::filesystem::remove_all(data);
    return 0;
  }
  const auto revision = Take(ImportDirectory(host, Open(arguments[1], O_RDONLY | O_DIRECTORY), {}));
  std::printf("import %.0f ms: %llu entries, %llu bytes\n", Milliseconds(begin),
              static_cast<unsigned long long>(revision.entries),
              static_cast<unsigned long long>(revision.bytes));
  const int trees = Open(data + "/trees", O_RDONLY | O_DIRECTORY);
  for (int round = 0; round < rounds; ++round) {
    begin = std::chrono::steady_clock::now();
    const double cpu = CpuMilliseconds();
    const auto made = EnsureTree(host, revision.tree, {});
    if (!made.ok()) {
      std::fprintf(stderr, "%s: %s\n", made.error().subject.c_str(), made.error().why.c_str());
      return 1;
    }
    std::printf("tree %.0f ms, cpu %.0f ms\n", Milliseconds(begin), CpuMilliseconds() - cpu);
    if (!bailiff::controller::RemoveTree(trees, revision.tree.hex().c_str()).ok()) return 1;
  }
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  std::printf("largest helper %ld KiB\n", usage.ru_maxrss);
  std::filesystem::remove_all(data);
  return 0;
}
