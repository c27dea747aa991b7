// SPDX-License-Identifier: Apache-2.0
// The candidate's output on its way to the caller, while the controller has deadlines to keep: a
// reader that does not read must never hold the controller up, so bytes wait here and are written
// only where they fit. What the recipe bounds (1 MiB) bounds what can wait, times four when
// escaped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "controller/cli/escape.h"

namespace bailiff::controller::cli {

class StreamForwarder {
 public:
  // `escape`: the descriptor is a terminal and --raw was not given.
  StreamForwarder(int fd, bool escape);

  // Takes bytes over and writes what fits now.
  void Take(std::string_view bytes);
  // Writes what fits now.
  void Write();
  // Waits for the reader until everything is written, or it has gone away, or `stop` (a descriptor
  // that becomes readable, or -1) says to give up.
  void Drain(int stop);

  // The cursor of a terminal stands at the start of a line.
  bool at_line_start() const { return sent_ == waiting_.size() && at_line_start_; }
  // errno of the write that failed, or 0. After it everything is dropped: the record has the bytes.
  int error() const { return error_; }

 private:
  bool Step();

  int fd_;
  bool escape_;
  StreamEscaper escaper_;
  std::size_t piece_;
  std::string waiting_;
  std::size_t sent_ = 0;  // of waiting_
  bool at_line_start_ = true;
  int error_ = 0;
};

}  // namespace bailiff::controller::cli
