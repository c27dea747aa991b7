// SPDX-License-Identifier: Apache-2.0
// What of git_cut.cc is used and not only linked. Naming it is also what brings git_cut.cc into a
// program before the linker looks for the rest of libgit2.
#pragma once

#include <cstddef>

// An inner variable of libgit2: the most that applying one delta may make. It holds for what lies
// between an object and what it is a delta of, too, whatever the object's own header says.
extern "C" std::size_t git_indexer__max_object_size;

namespace bailiff::snapshotter {

// libgit2 follows deltas from base to base for as long as there is one, and a pack may say that two
// are each other's. Each step asks for a window of the pack; one object gets so many of them (git
// itself makes chains of at most 4,095 steps, of a few windows each), then no more.
inline constexpr std::size_t kWindowsPerObject = 200'000;

// Before each object that is asked for.
void BeginGitObject();
// Whether the present object has used them up: its failure then means that.
bool GitWindowsSpent();

}  // namespace bailiff::snapshotter
