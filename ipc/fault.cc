// SPDX-License-Identifier: Apache-2.0
#include "ipc/fault.h"

#ifdef BAILIFF_TESTING

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace bailiff::fault {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Point::kCount)> kNames = {
#define BAILIFF_FAULT_POINT(name, where) #name,
#include "ipc/fault_points.def"
#undef BAILIFF_FAULT_POINT
};

std::array<unsigned, kNames.size()> arrivals;

// Calls `visit(name, nth, action)` for each element of the specification.
template <class Visit>
void ForEach(std::string_view specification, Visit visit) {
  while (!specification.empty()) {
    const std::size_t comma = specification.find(',');
    std::string_view item = specification.substr(0, comma);
    specification = comma == std::string_view::npos ? "" : specification.substr(comma + 1);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view name = item.substr(0, equals);
    unsigned nth = 1;
    if (const std::size_t hash = name.find('#'); hash != std::string_view::npos) {
      nth = static_cast<unsigned>(strtoul(name.data() + hash + 1, nullptr, 10));
      name = name.substr(0, hash);
    }
    visit(name, nth, item.substr(equals + 1));
  }
}

// The first process of a pid namespace (every helper) ignores its own signals, and once it is
// locked it may not send any: found out before main, it then ends or waits by calls that every
// filter has.
const bool first_process = getpid() == 1;

void Die() {
  if (!first_process) kill(getpid(), SIGKILL);
  _exit(128 + SIGKILL);
}

void Stop() {
  if (!first_process) {
    kill(getpid(), SIGSTOP);
    return;
  }
  for (;;) poll(nullptr, 0, -1);
}

void Trace(std::string_view name) {
  const char* descriptor = getenv("BAILIFF_FAULT_TRACE");
  if (descriptor == nullptr) return;
  std::string line(name);
  line += '\n';
  // A trace that cannot be written shows as a point that is missing from it.
  static_cast<void>(!write(atoi(descriptor), line.data(), line.size()));
}

}  // namespace

int Hit(Point point) {
  const auto index = static_cast<std::size_t>(point);
  Trace(kNames[index]);
  const char* specification = getenv("BAILIFF_FAULT");
  if (specification == nullptr) return 0;
  const unsigned arrival = ++arrivals[index];
  int injected = 0;
  ForEach(specification, [&](std::string_view name, unsigned nth, std::string_view action) {
    if (name != kNames[index] || nth != arrival) return;
    if (action == "kill") Die();
    if (action == "stop") Stop();
    if (action.starts_with("errno:")) injected = atoi(action.data() + strlen("errno:"));
  });
  return injected;
}

}  // namespace bailiff::fault

#endif
