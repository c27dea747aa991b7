// SPDX-License-Identifier: Apache-2.0
// The attack surface as text, from the tables the gate runs on (controller/supervisor/routes.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "controller/supervisor/routes.h"

namespace bailiff::controller::cli {

// A message the controller sends. It is the trusted side: nothing gates these but the helper's own
// strict decoding and its fixed order.
struct SentRow {
  std::string_view message;
  std::string_view when;
  std::string_view fields;
};

// A descriptor a helper is started with, beside 0, 1 (/dev/null), 2 (diagnosis) and 3 (channel).
struct DescriptorRow {
  std::string_view numbers;
  std::string_view what;
};

struct PeerRow {
  std::string_view name;      // "collector"
  std::string_view envelope;  // "FromCollector"
  std::string_view sent;      // "ToCollector"
  std::string_view about;
  std::span<const Route> routes;
  std::span<const SentRow> sends;
  std::span<const DescriptorRow> descriptors;
};

std::span<const PeerRow> Peers();

// "start, working"; "once", "once per stream", "many".
std::string PhaseNames(std::uint8_t phases);
std::string_view TimesName(Times times);

// Markdown. ipc/PROTOCOL.md is this text, and a test keeps it so.
std::string SurfaceDocument();

}  // namespace bailiff::controller::cli
