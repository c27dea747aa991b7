// SPDX-License-Identifier: Apache-2.0
// bailiff: the controller. The process graph of one call:
//
//   bailiff ──fork──► preparer            keeps the caller's rights for a few fixed requests
//      ├──spawn───────► snapshotter,        one per job: bytes from outside become objects,
//      │                importer            trees, images
//      ├──spawn───────► collector           one per attempt: reads the candidate's two pipes
//      └──spawn───────► warden ──clone──► candidate
//                                           builds the cell; reports the raw wait status
//
// A helper talks to the controller alone, over one channel; nobody but the controller opens the
// database.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "controller/cli/program.h"
#include "controller/supervisor/host_mode.h"

int main(int argc, char** argv) {
  using namespace bailiff::controller;
  // A file opened later must not become standard output (case a13: started with 0, 1 or 2 closed).
  int null = -1;
  do {
    null = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);
  } while (null >= 0 && null <= STDERR_FILENO);
  if (null < 0) return 74;
  close(null);
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error of write(2)
  std::signal(SIGXFSZ, SIG_IGN);  // so is `ulimit -f`: nothing is left half done because of it

  cli::Start start = cli::Prepare(argc, argv);
  if (start.status.has_value()) return *start.status;
  std::optional<bailiff::Result<HostMode>> host;
  if (start.request.has_value()) host = EnterHostMode(std::move(*start.request));
  return cli::Perform(start, std::move(host));
}
