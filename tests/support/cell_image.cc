// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cell_image.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "ipc/fd.h"

namespace bailiff::test {
namespace {

namespace fs = std::filesystem;

constexpr std::array kApplets = {
    "sh",    "true",  "false",  "cat",      "ls",   "id",       "echo",   "env",
    "sleep", "mount", "grep",   "mkdir",    "dd",   "kill",     "head",   "wc",
    "pwd",   "touch", "umount", "hostname", "find", "ps",       "stat",   "setsid",
    "date",  "mknod", "chroot", "ip",       "wget", "nslookup", "printf", "seq"};

void MakeImage(const fs::path& image) {
  for (const char* const name :
       {"bin", "usr", "etc", "tmp", "proc", "sys", "dev", "source", "scratch"})
    fs::create_directories(image / name);
  fs::copy_file("/bin/busybox", image / "bin/busybox");
  for (const char* const applet : kApplets) fs::create_symlink("busybox", image / "bin" / applet);
  fs::copy_file(fs::path(BAILIFF_TEST_BINARY_DIR) / "tests/probe", image / "bin/probe");
  fs::create_directories(image / "usr/bin");
  const auto file = [&](const char* name, std::string_view text, int mode) {
    const std::string path = image / name;
    const auto fd = ipc::OpenAt(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT, 0600);
    if (!fd.ok() || !ipc::WriteAll(fd->get(), text, name).ok() ||
        fchmod(fd->get(), static_cast<mode_t>(mode)) != 0) {
      std::fprintf(stderr, "cell_image: %s\n", name);
      std::abort();
    }
  };
  file("bin/unreadable", "#!/bin/sh\n", 0644);
  file("bin/garbage", "neither ELF nor script\n", 0755);
  file("bin/lost", "#!/bin/nowhere\n", 0755);
  file("bin/script", "#!/bin/sh\necho \"script $1\"\nexit 3\n", 0755);
}

}  // namespace

void MakeImages(const std::string& work) {
  MakeImage(work + "/image");
  fs::create_directories(work + "/source/w");
  fs::copy_file("/proc/version", work + "/source/README.md");
  fs::create_directory(work + "/incomplete");
  fs::create_directory(work + "/incomplete/proc");
  for (const char* const name : {"proc", "sys", "dev", "scratch"})
    fs::create_directories(work + "/linked/" + name);
  fs::create_symlink("/", work + "/linked/source");
}

}  // namespace bailiff::test
