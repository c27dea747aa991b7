// SPDX-License-Identifier: Apache-2.0
// A child that cannot outlive its owner: killed and reaped by the destructor, its diagnosis drained
// while it lives.
#pragma once

#include <string>

#include "ipc/spawn.h"

namespace bailiff::controller {

class HelperProcess {
 public:
  explicit HelperProcess(ipc::Child child) : child_(std::move(child)) {}
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;
  ~HelperProcess();

  const ipc::Child& child() const { return child_; }
  // Reads what is on descriptor 2 now; keeps the first kMaxDiagnosis bytes, throws the rest away.
  void DrainDiagnosis();
  // Opaque bytes: escape before showing.
  const std::string& diagnosis() const { return diagnosis_; }

  void Kill();
  // Waits at most `milliseconds`, then kills; reaps. Whether the status was exit(0) without a kill
  // of ours.
  bool End(int milliseconds);

 private:
  ipc::Child child_;
  std::string diagnosis_;
  bool reaped_ = false;
};

}  // namespace bailiff::controller
