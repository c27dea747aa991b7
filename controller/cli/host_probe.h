// SPDX-License-Identifier: Apache-2.0
// What the kernel lets this caller do, found by doing it in a child that ends at once. Nothing of a
// candidate is run and nothing stays.
#pragma once

#include <string>
#include <vector>

#include "ipc/result.h"

namespace bailiff::controller::cli {

// One thing looked at. `error` when it does not work.
struct Finding {
  std::string name;           // "user namespaces"
  std::string text;           // what was seen, when it works
  std::vector<Error> errors;  // at most one
  bool needed = true;         // without it no native cell
  bool ok() const { return errors.empty(); }
};

// Namespaces of a cell, with a map, a tmpfs and a fresh /proc inside.
Finding ProbeNamespaces();
// The actions the filters use (seccomp(2), SECCOMP_GET_ACTION_AVAIL).
Finding ProbeSeccomp();
// landlock_create_ruleset(2) with LANDLOCK_CREATE_RULESET_VERSION. Not needed: a helper's view is
// empty without it.
Finding ProbeLandlock();

// Why the kernel refuses user namespaces, read from the switches that do it (case h01); `call` and
// `error` are the refused call. Pure but for three reads of /proc/sys.
Error NamespaceError(std::string_view call, int error);

}  // namespace bailiff::controller::cli
