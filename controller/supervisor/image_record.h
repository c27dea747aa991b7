// SPDX-License-Identifier: Apache-2.0
// images/<id>/complete: what the controller found when it took an image in. Written last, by the
// controller alone; an image without it does not exist.
#pragma once

#include <cstdint>
#include <string>

#include "ipc/result.h"
#include "policy/digest.h"
#include "policy/image_facts.h"

namespace bailiff::controller {

struct ImageRecord {
  policy::Digest tree;  // recomputed by a second job from the unpacked root
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  policy::ImageFacts facts;
};

// JCS
// {"bytes","entries","environment","health_command","schema":"bailiff/image/v1","tree","volumes"}.
Result<std::string> EncodeImageRecord(const ImageRecord& record);
// Exactly such bytes; kImageRecord otherwise, `name` is the image's.
Result<ImageRecord> ParseImageRecord(std::string_view bytes, const std::string& name);
// Reads images/<name>/complete below the data directory.
Result<ImageRecord> ReadImageRecord(int data, const std::string& name);

}  // namespace bailiff::controller
