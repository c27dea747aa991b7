// SPDX-License-Identifier: Apache-2.0
// The mounts of a cell, one function a step, run by the candidate's process in the order of
// policy::CellStep. Each makes the rows of policy::kCellMounts that belong to it.
#pragma once

#include "collector/warden/order.h"
#include "ipc/fd.h"

namespace bailiff::warden {

// What one step hands to a later one.
struct Cell {
  const Order* order = nullptr;
  ipc::Fd image;  // the image root as it came, detached
  ipc::Fd root;   // the same, attached
  // The directory of user.max_*_namespaces, opened before it is masked: the one thing that is
  // still written through the proc mount as it was. Closed before the candidate is released.
  ipc::Fd namespace_bounds;
};

Result<void> MakePrivate(Cell& cell);
Result<void> AttachImage(Cell& cell);
Result<void> CheckMountPoints(Cell& cell);
Result<void> AttachSource(Cell& cell);
Result<void> MountProc(Cell& cell);
Result<void> MaskProc(Cell& cell);
Result<void> MountSys(Cell& cell);
Result<void> MountCgroupFiles(Cell& cell);
Result<void> MountDevices(Cell& cell);
Result<void> MountScratch(Cell& cell);
Result<void> Pivot(Cell& cell);

}  // namespace bailiff::warden
