// SPDX-License-Identifier: Apache-2.0
// Facts of a run in which everything went well; tests change one thing.
#pragma once

#include "policy/outcome.h"

namespace bailiff::policy {

inline constexpr int Exited(int code) { return code << 8; }    // wait(2)
inline constexpr int Signalled(int signal) { return signal; }  // wait(2), no core
inline constexpr int kCoreFlag = 0x80;

inline Facts GoodFacts() {
  Facts facts;
  facts.source = Check::kMatched;
  facts.readback_before = Check::kMatched;
  facts.released = true;
  facts.started = true;
  facts.wait_status = Exited(0);
  facts.pidfd_status = Exited(0);
  facts.warden = HelperEnd::kClean;
  facts.collector = HelperEnd::kClean;
  facts.oom_kills = 0;
  facts.pids_refused = 0;
  facts.out = {5, 5, true};
  facts.err = {0, 0, true};
  facts.output_bound = 65536;
  facts.readback_after = Check::kMatched;
  facts.identity = Check::kMatched;
  facts.cleanup_confirmed = true;
  return facts;
}

inline Facts FactsWithStatus(int status) {
  Facts facts = GoodFacts();
  facts.wait_status = status;
  facts.pidfd_status = status;
  return facts;
}

}  // namespace bailiff::policy
