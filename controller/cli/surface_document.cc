// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/surface_document.h"

#include <array>

#include "ipc/bounds.h"
#include "policy/role.h"

namespace bailiff::controller::cli {
namespace {

constexpr std::array kToCollector = {
    SentRow{"CollectorGo", "start", "kind, retained_bound"},
    SentRow{"Quit", "done", ""},
};
constexpr std::array kToWarden = {
    SentRow{"CellOrder", "start", "ids, limits, executable, argv, environment"},
    SentRow{"Release", "ready", ""},
    SentRow{"Kill", "any", ""},
};
constexpr std::array kToSnapshotter = {
    SentRow{"SnapshotterGo", "start",
            "one of Materialize, VerifyTree, ImportDirectory, ImportImage, ImportGit, VerifyGit, "
            "Export, "
            "ExportGit, ListTree, ReadImageConfig, ExportImage"},
    SentRow{"Cancel", "any", ""},
};
constexpr std::array kCollectorDescriptors = {
    DescriptorRow{"4", "read end of the candidate's standard output"},
    DescriptorRow{"5", "read end of the candidate's standard error"},
};
constexpr std::array kWardenDescriptors = {
    DescriptorRow{"4", "image root: detached mount, read-only"},
    DescriptorRow{"5", "source tree: detached mount, read-only"},
    DescriptorRow{"6", "write end of the candidate's standard output"},
    DescriptorRow{"7", "write end of the candidate's standard error"},
    DescriptorRow{"8", "cgroup v2: directory of the cell"},
    DescriptorRow{"8, 9, 10", "cgroup v1: `tasks` of memory, pids and cpu"},
};
constexpr std::array kSnapshotterDescriptors = {
    DescriptorRow{
        "4",
        "what the job reads: detached mount, read-only, no links followed; an image import: the "
        "archive itself"},
    DescriptorRow{"5",
                  "what the job writes: detached mount of one new directory; verifying and listing "
                  "have none"},
};
constexpr std::array kPeers = {
    PeerRow{"collector", "FromCollector", "ToCollector",
            "Reads what the candidate wrote. All it can say stands in the first table.",
            kFromCollector, kToCollector, kCollectorDescriptors},
    PeerRow{"warden", "FromWarden", "ToWarden",
            "Builds the cell, is the candidate's parent, reads no byte the candidate could choose.",
            kFromWarden, kToWarden, kWardenDescriptors},
    PeerRow{"snapshotter and importer", "FromSnapshotter", "ToSnapshotter",
            "Read bytes from outside: sources, archives, objects, trees. One process a job.",
            kFromSnapshotter, kToSnapshotter, kSnapshotterDescriptors},
};

constexpr std::array kPhases = {
    std::pair{Phase::kStart, std::string_view("start")},
    std::pair{Phase::kReady, std::string_view("ready")},
    std::pair{Phase::kWorking, std::string_view("working")},
    std::pair{Phase::kDone, std::string_view("done")},
};

std::string Cell(std::string_view text) { return text.empty() ? "–" : std::string(text); }

}  // namespace

std::span<const PeerRow> Peers() { return kPeers; }

std::string PhaseNames(std::uint8_t phases) {
  std::string names;
  for (const auto& [phase, name] : kPhases) {
    if ((phases & Only(phase)) != 0) names.append(names.empty() ? "" : ", ").append(name);
  }
  return names;
}

std::string_view TimesName(Times times) {
  switch (times) {
    case Times::kOnce:
      return "once";
    case Times::kOncePerStream:
      return "once per stream";
    case Times::kMany:
      return "many";
  }
  return "?";
}

std::string SurfaceDocument() {
  std::string text =
      "# What the processes of Bailiff can say to each other\n\n"
      "Written by `bailiff surface` from the tables the controller's gate runs on "
      "(controller/supervisor/routes.h); a test keeps\nthis copy equal. Do not edit.\n\n"
      "One packet of a SOCK_SEQPACKET socket pair is one frame: a 4-byte big-endian length and one "
      "proto2-lite message of at most\n" +
      std::to_string(ipc::kMaxMessage) +
      " bytes. The controller receives without a control buffer, so a helper cannot pass a "
      "descriptor. Order of the gate: size,\nstrict decoding, route, phase, times, conversion to a "
      "checked value. Any refusal kills the helper and ends its job; there is no\nreply and no "
      "retry. Every helper starts with 0 and 1 = /dev/null, " +
      std::to_string(ipc::kDiagnosisFd) + " = diagnosis (at most " +
      std::to_string(ipc::kMaxDiagnosis) + " bytes kept, opaque), " +
      std::to_string(ipc::kChannelFd) +
      " = channel,\nand the descriptors listed; the controller checks that it has no other. "
      "Protocol " +
      std::to_string(ipc::kProtocol) + ".\n";
  for (const PeerRow& peer : kPeers) {
    text += "\n## " + std::string(peer.name) + "\n\n" + std::string(peer.about) + "\n\n";
    text += "From it to the controller (`" + std::string(peer.envelope) + "`):\n\n";
    text +=
        "| message | phase | times | bytes at most | fields | who could make it false, and what "
        "checks it |\n"
        "|---|---|---|---|---|---|\n";
    for (const Route& route : peer.routes) {
      text += "| " + std::string(route.message) + " | " + PhaseNames(route.phases) + " | " +
              std::string(TimesName(route.times)) + " | " + std::to_string(route.max_bytes) +
              " | " + Cell(route.fields) + " | " + Cell(route.liar) + " |\n";
    }
    text += "\nFrom the controller to it (`" + std::string(peer.sent) +
            "`):\n\n| message | phase | fields |\n|---|---|---|\n";
    for (const SentRow& row : peer.sends) {
      text += "| " + std::string(row.message) + " | " + std::string(row.when) + " | " +
              Cell(row.fields) + " |\n";
    }
    text += "\n| descriptor | is |\n|---|---|\n";
    for (const DescriptorRow& row : peer.descriptors) {
      text += "| " + std::string(row.numbers) + " | " + std::string(row.what) + " |\n";
    }
  }
  return text;
}

}  // namespace bailiff::controller::cli
