// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/spools.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "ipc/fd.h"
#include "policy/outcome.h"

namespace bailiff::controller {
namespace {

constexpr std::string_view kPrefix = "output-";

// The attempt of "output-<attempt>-<generation>.<stream>", or "" for another name.
std::string AttemptOf(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (!name.starts_with(kPrefix) || dash < kPrefix.size()) return "";
  return std::string(name.substr(kPrefix.size(), dash - kPrefix.size()));
}

bool Settled(const AttemptRow& row) {
  return row.state == AttemptState::kCancelled ||
         (row.state == AttemptState::kFinished &&
          row.outcome != policy::OutcomeName(policy::Outcome::kIndeterminate));
}

}  // namespace

void SweepSpools(int data, Store& store) {
  auto execution = ipc::OpenBeneath(data, "execution", O_RDONLY | O_DIRECTORY);
  if (!execution.ok()) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fdopendir(execution->get()), closedir);
  if (directory == nullptr) return;
  const int listed = execution->release();
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory.get())) names.emplace_back(entry->d_name);
  for (const std::string& name : names) {
    const std::string attempt = AttemptOf(name);
    if (attempt.empty()) continue;
    const auto row = store.GetAttempt(attempt);
    if (row.ok() && Settled(*row)) unlinkat(listed, name.c_str(), 0);
  }
}

}  // namespace bailiff::controller
