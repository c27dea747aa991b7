// SPDX-License-Identifier: Apache-2.0
// Sizes that hold on the wire. Every one is checked before anything is allocated for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bailiff::ipc {

// Version of the frames and messages below. Helpers and controller are one release: any difference
// is a violation.
inline constexpr std::uint32_t kProtocol = 1;

inline constexpr std::size_t kLengthPrefix = 4;           // big-endian length of the message
inline constexpr std::size_t kMaxOutputData = 64 * 1024;  // bytes of candidate output in one Output
inline constexpr std::size_t kMaxMessage = kMaxOutputData + 64;  // one protobuf message
inline constexpr std::size_t kMaxFrame = kLengthPrefix + kMaxMessage;

inline constexpr std::size_t kMaxHello = 256;
inline constexpr std::size_t kMaxSmall = 64;
inline constexpr std::size_t kMaxFacts = 16;
inline constexpr std::size_t kMaxFactName = 64;
inline constexpr std::size_t kMaxFactValue = 256;
inline constexpr std::size_t kMaxObjectsPerFrame = 512;
inline constexpr std::size_t kMaxPath = 4095;
inline constexpr std::size_t kMaxDetail = 1024;
// Entries of an image's environment and their tags and lengths (policy/image_facts.h).
inline constexpr std::size_t kMaxImageFacts = 32 * 1024 + 64 * 4 + kMaxSmall;
inline constexpr std::size_t kDigest = 32;

// What the controller keeps of a helper's diagnosis (fd 2): opaque bytes, escaped when shown.
inline constexpr std::size_t kMaxDiagnosis = 4096;

// Descriptor numbers every helper starts with; what the job adds begins at kFirstJobFd.
inline constexpr int kDiagnosisFd = 2;
inline constexpr int kChannelFd = 3;
inline constexpr int kFirstJobFd = 4;

}  // namespace bailiff::ipc
