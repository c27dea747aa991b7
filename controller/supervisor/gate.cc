// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/gate.h"

namespace bailiff::controller {

// One switch per peer, without a default: -Wswitch refuses to compile an arm that has no row.
std::size_t CollectorPeer::RouteIndex(const Message& message) {
  switch (message.body_case()) {
    case Message::kHello:
      return 0;
    case Message::kOutput:
      return 1;
    case Message::kStreamEnd:
      return 2;
    case Message::BODY_NOT_SET:
      break;
  }
  return kRoutes.size();
}

std::size_t WardenPeer::RouteIndex(const Message& message) {
  switch (message.body_case()) {
    case Message::kBuilt:
      return 0;
    case Message::kStarted:
      return 1;
    case Message::kExecFailed:
      return 2;
    case Message::kEnded:
      return 3;
    case Message::BODY_NOT_SET:
      break;
  }
  return kRoutes.size();
}

std::size_t SnapshotterPeer::RouteIndex(const Message& message) {
  switch (message.body_case()) {
    case Message::kHello:
      return 0;
    case Message::kProgress:
      return 1;
    case Message::kObjects:
      return 2;
    case Message::kObservation:
      return 3;
    case Message::kWarning:
      return 4;
    case Message::kFailed:
      return 5;
    case Message::kDone:
      return 6;
    case Message::kImageFacts:
      return 7;
    case Message::BODY_NOT_SET:
      break;
  }
  return kRoutes.size();
}

}  // namespace bailiff::controller
