// SPDX-License-Identifier: Apache-2.0
// Writes the manual pages and the completion scripts into a directory. Run by the build, not
// installed.
#include <cstdio>

#include "controller/cli/help.h"
#include "ipc/fd.h"

#include <fcntl.h>

namespace {

bool Write(int directory, const char* name, const std::string& text) {
  const auto file = bailiff::ipc::OpenAt(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  return file.ok() && bailiff::ipc::WriteAll(file->get(), text, name).ok();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bailiff::controller::cli;
  if (argc != 2) return 64;
  const auto directory = bailiff::ipc::OpenAt(AT_FDCWD, argv[1], O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return 66;
  const int fd = directory->get();
  const bool written = Write(fd, "bailiff.1", ManualPage()) &&
                       Write(fd, "bailiff-errors.7", ErrorsManualPage()) &&
                       Write(fd, "bailiff.bash", CompletionScript(Shell::kBash)) &&
                       Write(fd, "_bailiff", CompletionScript(Shell::kZsh)) &&
                       Write(fd, "bailiff.fish", CompletionScript(Shell::kFish));
  return written ? 0 : 74;
}
