// SPDX-License-Identifier: Apache-2.0
// A helper that says Hello without having given anything up.
#include <unistd.h>

#include "ipc/bounds.h"
#include "snapshotter/session.h"

int main() {
  bailiff::snapshotter::Session session(bailiff::ipc::kChannelFd);
  if (!session.SayHello(bailiff::policy::Role::kImporter, 7).ok()) return 1;
  return session.Receive().ok() ? 0 : 1;
}
