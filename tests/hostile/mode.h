// SPDX-License-Identifier: Apache-2.0
// A hostile helper is a test program in the place of a real one. Which of its lies it tells comes
// through the variable that the test build of the controller hands to helpers; a real helper has no
// environment at all.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstdlib>
#include <string>

#include "ipc/bounds.h"
#include "policy/role.h"

namespace bailiff::hostile {

inline std::string Mode() {
  const char* mode = getenv("BAILIFF_FAULT");
  return mode == nullptr ? "" : mode;
}

// Locks this process the way a helper must, but for the one thing that `mode` names: "open-view",
// "open-capabilities", "open-bounding", "open-no-new-privs", "open-seccomp", "open-second-filter",
// "open-thread", "open-descriptor". Any other mode locks all. Ends the process when a step fails.
void Lock(policy::Role role, const std::string& mode, bool has_out);

// One packet on the channel, whatever is in it. By sendmsg, since a helper's filter lets no other
// call send.
inline void SendRaw(const std::string& packet) {
  iovec part{const_cast<char*>(packet.data()), packet.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  static_cast<void>(sendmsg(ipc::kChannelFd, &header, MSG_NOSIGNAL));
}

}  // namespace bailiff::hostile
