// SPDX-License-Identifier: Apache-2.0
#include "collector/pump.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ipc/bounds.h"

namespace bailiff::collector {
namespace {

struct Source {
  Stream stream;
  int fd;
  std::uint64_t seen = 0;
  bool open = true;
};

class Pumping {
 public:
  Pumping(Session& session, int out, int err, std::uint64_t bound)
      : session_(session),
        sources_{Source{Stream::kOut, out}, Source{Stream::kErr, err}},
        left_(bound) {}

  Result<void> Run() {
    while (sources_[0].open || sources_[1].open) {
      std::array<pollfd, 3> waits = {pollfd{session_.channel(), POLLIN, 0}};
      for (std::size_t i = 0; i < sources_.size(); ++i)
        waits[i + 1] = {sources_[i].open ? sources_[i].fd : -1, POLLIN, 0};
      if (poll(waits.data(), waits.size(), -1) < 0) {
        if (errno == EINTR) continue;
        return SystemError("poll", "streams");
      }
      if (waits[0].revents != 0) {
        BAILIFF_TRY_ASSIGN(const bool quit, session_.ToldToQuit(ipc::FrameReader::Wait::kPoll));
        if (quit) return CutShort();
      }
      for (std::size_t i = 0; i < sources_.size(); ++i) {
        if (waits[i + 1].revents == 0) continue;
        BAILIFF_TRY(ReadOnce(sources_[i]));
        if (crossed_) return WaitForEnd();
      }
    }
    return {};
  }

 private:
  // A whole buffer every time: the candidate may make its pipe a packet pipe, where what does not
  // fit in one read is lost (pipe(2), O_DIRECT; a packet is at most PIPE_BUF).
  Result<void> ReadOnce(Source& source) {
    const ssize_t got = read(source.fd, buffer_.data(), buffer_.size());
    if (got < 0) {
      if (errno == EINTR || errno == EAGAIN) return {};
      return SystemError("read", "stream");
    }
    if (got == 0) {
      source.open = false;
      close(std::exchange(source.fd, -1));
      return session_.SendEnd(source.stream, source.seen, true);
    }
    const auto size = static_cast<std::size_t>(got);
    const std::size_t kept = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
    if (kept > 0) {
      BAILIFF_TRY(session_.SendOutput(source.stream, source.seen, {buffer_.data(), kept}));
      left_ -= kept;
    }
    source.seen += size;
    if (kept == size) return {};
    crossed_ = true;
    return CutShort();
  }

  Result<void> CutShort() {
    for (Source& source : sources_) {
      if (!source.open) continue;
      source.open = false;
      BAILIFF_TRY(session_.SendEnd(source.stream, source.seen, false));
    }
    return {};
  }

  // Holds the read ends, and reads no more, until nobody can write or the controller has enough.
  Result<void> WaitForEnd() {
    while (sources_[0].fd >= 0 || sources_[1].fd >= 0) {
      std::array<pollfd, 3> waits = {pollfd{session_.channel(), POLLIN, 0},
                                     pollfd{sources_[0].fd, 0, 0}, pollfd{sources_[1].fd, 0, 0}};
      if (poll(waits.data(), waits.size(), -1) < 0) {
        if (errno == EINTR) continue;
        return SystemError("poll", "streams");
      }
      if (waits[0].revents != 0) {
        BAILIFF_TRY_ASSIGN(const bool quit, session_.ToldToQuit(ipc::FrameReader::Wait::kPoll));
        if (quit) return {};
      }
      for (std::size_t i = 0; i < sources_.size(); ++i) {
        if ((waits[i + 1].revents & (POLLHUP | POLLERR)) != 0) sources_[i].fd = -1;
      }
    }
    return {};
  }

  Session& session_;
  std::array<Source, 2> sources_;
  std::uint64_t left_;
  bool crossed_ = false;
  std::array<char, ipc::kMaxOutputData> buffer_;
};

}  // namespace

Result<void> Pump(Session& session, int out, int err, std::uint64_t bound) {
  static_assert(sizeof(Pumping) < std::size_t{128} << 10, "lives on the stack");
  Pumping pumping(session, out, err, bound);
  return pumping.Run();
}

}  // namespace bailiff::collector
