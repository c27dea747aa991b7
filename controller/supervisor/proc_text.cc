// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/proc_text.h"

#include <charconv>

namespace bailiff::controller {
namespace {

template <class Visit>
void ForEachLine(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const std::size_t end = line.find_first_of(" \t", at);
    words.push_back(line.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) break;
    at = end;
  }
  return words;
}

template <class Integer>
std::optional<Integer> Number(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::map<std::string, std::string> ParseStatus(std::string_view text) {
  std::map<std::string, std::string> fields;
  ForEachLine(text, [&](std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string value;
    for (const std::string_view word : Words(line.substr(colon + 1))) {
      if (!value.empty()) value += ' ';
      value += word;
    }
    fields.emplace(line.substr(0, colon), std::move(value));
  });
  return fields;
}

std::optional<std::uint64_t> ParseWritten(std::string_view io) {
  constexpr std::string_view kName = "wchar: ";
  const std::size_t at = io.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const char* const begin = io.data() + at + kName.size();
  const auto [end, error] = std::from_chars(begin, io.data() + io.size(), value);
  if (error != std::errc() || end == begin) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ParseStartTicks(std::string_view stat) {
  // The command's name is in parentheses and may hold anything, parentheses too: fields count from
  // the last one.
  const std::size_t close = stat.rfind(')');
  if (close == std::string_view::npos) return std::nullopt;
  const auto words = Words(stat.substr(close + 1));
  constexpr std::size_t kStartTime = 22 - 3;
  if (words.size() <= kStartTime) return std::nullopt;
  return Number<std::uint64_t>(words[kStartTime]);
}

const char* LimitName(int resource) {
  switch (resource) {
    case RLIMIT_AS:
      return "Max address space";
    case RLIMIT_CORE:
      return "Max core file size";
    case RLIMIT_CPU:
      return "Max cpu time";
    case RLIMIT_DATA:
      return "Max data size";
    case RLIMIT_FSIZE:
      return "Max file size";
    case RLIMIT_MEMLOCK:
      return "Max locked memory";
    case RLIMIT_MSGQUEUE:
      return "Max msgqueue size";
    case RLIMIT_NICE:
      return "Max nice priority";
    case RLIMIT_NOFILE:
      return "Max open files";
    case RLIMIT_NPROC:
      return "Max processes";
    case RLIMIT_RTPRIO:
      return "Max realtime priority";
    case RLIMIT_SIGPENDING:
      return "Max pending signals";
    case RLIMIT_STACK:
      return "Max stack size";
    default:
      return "";
  }
}

std::optional<std::pair<rlim_t, rlim_t>> FindLimit(std::string_view limits, std::string_view name) {
  std::optional<std::pair<rlim_t, rlim_t>> found;
  ForEachLine(limits, [&](std::string_view line) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ') return;
    const auto words = Words(line.substr(name.size()));
    if (words.size() < 2) return;
    const auto value = [](std::string_view word) -> std::optional<rlim_t> {
      if (word == "unlimited") return RLIM_INFINITY;
      return Number<rlim_t>(word);
    };
    const auto soft = value(words[0]);
    const auto hard = value(words[1]);
    if (soft && hard) found = {*soft, *hard};
  });
  return found;
}

std::vector<MountLine> ParseMountInfo(std::string_view text) {
  std::vector<MountLine> mounts;
  ForEachLine(text, [&](std::string_view line) {
    const auto words = Words(line);
    std::size_t dash = 6;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 2 >= words.size()) return;
    mounts.push_back({std::string(words[3]), std::string(words[4]), std::string(words[5]),
                      std::string(words[dash + 1]),
                      std::string(dash + 3 < words.size() ? words[dash + 3] : "")});
  });
  return mounts;
}

}  // namespace bailiff::controller
