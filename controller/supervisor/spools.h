// SPDX-License-Identifier: Apache-2.0
// execution/output-<attempt>-<generation>.stdout|.stderr: what a running attempt has written so
// far.
#pragma once

#include "controller/store/store.h"

namespace bailiff::controller {

// Removes the spools of attempts whose record is stored: their owner died between the two (e03).
// Those of running attempts stay, and those of abandoned ones, whose record has no output. Best
// effort: nobody reads what stays, and the next call looks again.
void SweepSpools(int data, Store& store);

}  // namespace bailiff::controller
