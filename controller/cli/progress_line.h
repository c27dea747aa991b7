// SPDX-License-Identifier: Apache-2.0
// The one line a person watches while a command runs, on standard error and only on a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bailiff::controller::cli {

struct ProgressFigures {
  std::uint64_t elapsed_ms = 0;
  std::optional<std::uint64_t> cpu_us;  // user and system since the start
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> pids;
  std::uint64_t output_bytes = 0;
  std::uint64_t memory_limit = 0;
  std::uint64_t pids_limit = 0;
  std::uint64_t output_limit = 0;
};

class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const ProgressFigures& figures);
  // A line about something else, such as an import.
  void Show(std::string_view text);
  // Takes the line away, so that something else may be written.
  void Clear();

  // "running 00:14  cpu 171%  memory 88/512 MiB  pids 9/64  output 21 KiB/1 MiB". `cpu_percent` is
  // of one processor; below 0: not known.
  static std::string Text(const ProgressFigures& figures, int cpu_percent);

 private:
  bool shown_;
  bool drawn_ = false;
  unsigned turn_ = 0;
  std::uint64_t last_elapsed_ms_ = 0;
  std::uint64_t last_cpu_us_ = 0;
  int cpu_percent_ = -1;
};

}  // namespace bailiff::controller::cli
