// SPDX-License-Identifier: Apache-2.0
// A packet with a descriptor in it, as somebody sends it who should not (unix(7), SCM_RIGHTS).
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>
#include <string>

namespace bailiff::test {

// What sendmsg(2) says.
inline ssize_t SendDescriptor(int socket, std::string packet, int descriptor) {
  iovec part{packet.data(), packet.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* message = CMSG_FIRSTHDR(&header);
  message->cmsg_level = SOL_SOCKET;
  message->cmsg_type = SCM_RIGHTS;
  message->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(message), &descriptor, sizeof descriptor);
  return sendmsg(socket, &header, MSG_NOSIGNAL);
}

}  // namespace bailiff::test
