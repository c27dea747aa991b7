// SPDX-License-Identifier: Apache-2.0
// Writes policy/golden again after a list was changed: bailiff_filter_dump ROLE > golden/ROLE.txt
#include <cstdio>

#include "policy/filter_table.h"

int main(int count, char** arguments) {
  using bailiff::policy::Role;
  for (const Role role :
       {Role::kCollector, Role::kSnapshotter, Role::kImporter, Role::kWarden, Role::kCandidate}) {
    if (count == 2 && bailiff::policy::RoleName(role) == arguments[1]) {
      std::fputs(bailiff::policy::DumpFilter(role).c_str(), stdout);
      return 0;
    }
  }
  std::fputs("usage: bailiff_filter_dump collector|snapshotter|importer|warden|candidate\n",
             stderr);
  return 64;
}
