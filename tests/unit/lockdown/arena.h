// SPDX-License-Identifier: Apache-2.0
// Processes to be locked and then to try things. Works as root and as an ordinary user, because
// every one lives in user and mount namespaces of its own.
#pragma once

#include <functional>
#include <string>

#include "policy/role.h"

namespace bailiff::policy::arena {

struct Ended {
  int status = 0;    // raw, waitpid(2)
  std::string said;  // what it wrote to its descriptor 2
  bool exited(int code) const;
  bool killed(int signal) const;
};

// Runs `body` in a forked process with the descriptors of a helper: 0 and 1 /dev/null, 2 the pipe
// that fills `said`, 3 one end of a channel, nothing else. When it returns, the process exits with
// 0.
Ended Run(const std::function<void()>& body);

// Enters a new user namespace (the present id is 0 there) and mount namespace, both the caller's
// own.
void EnterOwnNamespaces(unsigned long more = 0);

// As a helper of `role` is in production: a controller's namespace clones `in` and `out` ("" for
// none), the helper's own namespaces enter the view and lock, then `body` runs. A collector has no
// view but two pipes, 4 and 5, whose writers are gone.
Ended RunLocked(Role role, const std::string& in, const std::string& out,
                const std::function<void()>& body);

// Says "<what>=ok" or "<what>=<errno name>" on descriptor 2, with calls that every role has.
void Say(const char* what, long result);

// An empty directory that is removed with its content at the end of the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string Make(const char* name) const;                        // a directory in it
  std::string Write(const char* name, const char* content) const;  // a file in it

 private:
  std::string path_;
};

}  // namespace bailiff::policy::arena
