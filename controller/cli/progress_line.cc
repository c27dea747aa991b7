// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/progress_line.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "ipc/fd.h"
#include "policy/units.h"

namespace bailiff::controller::cli {
namespace {

constexpr std::array<std::string_view, 10> kTurns = {"⠋", "⠙", "⠹", "⠸", "⠼",
                                                     "⠴", "⠦", "⠧", "⠇", "⠏"};
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kCpuWindowMs = 500;  // shorter, and the figure flickers

}  // namespace

std::string ProgressLine::Text(const ProgressFigures& figures, int cpu_percent) {
  std::array<char, 32> clock{};
  const std::uint64_t seconds = figures.elapsed_ms / 1000;
  std::snprintf(clock.data(), clock.size(), "%02u:%02u", static_cast<unsigned>(seconds / 60 % 1000),
                static_cast<unsigned>(seconds % 60));
  std::string text = "running " + std::string(clock.data());
  if (cpu_percent >= 0) text += "  cpu " + std::to_string(cpu_percent) + "%";
  if (figures.memory_bytes.has_value()) {
    text += "  memory " + std::to_string((*figures.memory_bytes + kMiB / 2) / kMiB) + "/" +
            std::to_string(figures.memory_limit / kMiB) + " MiB";
  }
  if (figures.pids.has_value()) {
    text += "  pids " + std::to_string(*figures.pids) + "/" + std::to_string(figures.pids_limit);
  }
  text += "  output " + policy::FormatBytes(figures.output_bytes) + "/" +
          policy::FormatBytes(figures.output_limit);
  return text;
}

void ProgressLine::Show(const ProgressFigures& figures) {
  if (!shown_) return;
  const std::uint64_t window = figures.elapsed_ms - last_elapsed_ms_;
  if (figures.cpu_us.has_value() && figures.elapsed_ms >= last_elapsed_ms_ &&
      window >= kCpuWindowMs) {
    const std::uint64_t used = *figures.cpu_us >= last_cpu_us_ ? *figures.cpu_us - last_cpu_us_ : 0;
    cpu_percent_ = static_cast<int>(used / (window * 10));
    last_elapsed_ms_ = figures.elapsed_ms;
    last_cpu_us_ = *figures.cpu_us;
  }
  Show(Text(figures, cpu_percent_));
}

void ProgressLine::Show(std::string_view text) {
  if (!shown_) return;
  std::string line = "\r\x1b[K";
  line.append(kTurns[turn_++ % kTurns.size()]).append(" ").append(text);
  static_cast<void>(ipc::WriteAll(STDERR_FILENO, line, "standard error"));
  drawn_ = true;
}

void ProgressLine::Clear() {
  if (!drawn_) return;
  static_cast<void>(ipc::WriteAll(STDERR_FILENO, "\r\x1b[K", "standard error"));
  drawn_ = false;
}

}  // namespace bailiff::controller::cli
