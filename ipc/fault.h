// SPDX-License-Identifier: Apache-2.0
// Fault points: named places where a test build can be told to die, stop or fail. In a program that
// is installed BAILIFF_FAULT is the constant 0 and nothing of fault.cc is compiled in.
//
//   if (int error = BAILIFF_FAULT(StoreCommit)) return SystemError("commit", …, error);
//
// A test build reads BAILIFF_FAULT="Name[#N]=kill|stop|errno:NUMBER[,…]" once: at the Nth arrival
// (default 1) it kills itself with SIGKILL, stops itself with SIGSTOP (the test then kills any set
// of processes), or returns NUMBER. A helper, the first process of a pid namespace, exits with 137
// instead, or waits for ever (state S, not T). With BAILIFF_FAULT_TRACE=FD the name of each arrival
// is written to that descriptor, a line each: a test learns from one run what there is to hit.
#pragma once

namespace bailiff::fault {

enum class Point : unsigned {
#define BAILIFF_FAULT_POINT(name, where) k##name,
#include "ipc/fault_points.def"
#undef BAILIFF_FAULT_POINT
  kCount
};

#ifdef BAILIFF_TESTING
int Hit(Point point);
#define BAILIFF_FAULT(name) (::bailiff::fault::Hit(::bailiff::fault::Point::k##name))
#else
#define BAILIFF_FAULT(name) (static_cast<void>(::bailiff::fault::Point::k##name), 0)
#endif

}  // namespace bailiff::fault
