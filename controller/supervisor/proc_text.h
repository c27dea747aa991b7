// SPDX-License-Identifier: Apache-2.0
// Parsers of the kernel's own text in /proc (proc(5)): pure, tested on recorded files.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bailiff::controller {

// "Name:\tvalue" lines; runs of blanks inside a value become one space.
std::map<std::string, std::string> ParseStatus(std::string_view text);
std::optional<std::uint64_t> ParseStartTicks(std::string_view stat);
// "wchar" of /proc/<pid>/io: bytes it has given to write(2) and its kin, whatever became of them.
std::optional<std::uint64_t> ParseWritten(std::string_view io);

// First column of /proc/<pid>/limits for a RLIMIT_*.
const char* LimitName(int resource);
// Soft and hard; RLIM_INFINITY for unlimited.
std::optional<std::pair<rlim_t, rlim_t>> FindLimit(std::string_view limits, std::string_view name);

struct MountLine {
  std::string root;
  std::string point;
  std::string options;  // per mount
  std::string type;
  std::string super_options;
};
std::vector<MountLine> ParseMountInfo(std::string_view text);

}  // namespace bailiff::controller
