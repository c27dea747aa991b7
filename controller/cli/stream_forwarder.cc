// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/stream_forwarder.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace bailiff::controller::cli {
namespace {

// What a descriptor that polls writable takes without blocking: a regular file everything, a pipe
// PIPE_BUF bytes (pipe(7)); a terminal promises less, so it gets small pieces.
std::size_t PieceOf(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return PIPE_BUF;
  if (S_ISREG(status.st_mode)) return std::size_t{1} << 20;
  return S_ISCHR(status.st_mode) ? 512 : PIPE_BUF;
}

}  // namespace

StreamForwarder::StreamForwarder(int fd, bool escape)
    : fd_(fd), escape_(escape), piece_(PieceOf(fd)) {}

void StreamForwarder::Take(std::string_view bytes) {
  if (error_ != 0) return;
  if (escape_) {
    waiting_ += escaper_.Next(bytes);
  } else {
    waiting_.append(bytes);
  }
  Write();
}

// Writes one piece if the descriptor takes it now.
bool StreamForwarder::Step() {
  if (sent_ == waiting_.size() || error_ != 0) return false;
  pollfd poller{fd_, POLLOUT, 0};
  if (poll(&poller, 1, 0) != 1) return false;
  const ssize_t written =
      write(fd_, waiting_.data() + sent_, std::min(piece_, waiting_.size() - sent_));
  if (written < 0) {
    if (errno == EINTR) return true;
    if (errno == EAGAIN) return false;  // somebody made the shared description non-blocking
    error_ = errno;
    waiting_.clear();
    sent_ = 0;
    return false;
  }
  sent_ += static_cast<std::size_t>(written);
  if (written > 0) at_line_start_ = waiting_[sent_ - 1] == '\n';
  if (sent_ == waiting_.size()) {
    waiting_.clear();
    sent_ = 0;
  }
  return true;
}

void StreamForwarder::Write() {
  while (Step()) {
  }
}

void StreamForwarder::Drain(int stop) {
  if (escape_) waiting_ += escaper_.Finish();
  Write();
  while (sent_ < waiting_.size() && error_ == 0) {
    std::array<pollfd, 2> pollers{pollfd{fd_, POLLOUT, 0}, pollfd{stop, POLLIN, 0}};
    if (poll(pollers.data(), stop < 0 ? 1 : 2, -1) < 0 && errno != EINTR) return;
    if (stop >= 0 && (pollers[1].revents & POLLIN) != 0) return;
    Write();
  }
}

}  // namespace bailiff::controller::cli
