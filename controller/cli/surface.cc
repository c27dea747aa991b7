// SPDX-License-Identifier: Apache-2.0
// `surface`: what a helper can say, from the table; `surface --live`: what each running process of
// Bailiff holds, from /proc.
#include "controller/cli/live_processes.h"
#include "controller/cli/surface_document.h"
#include "controller/cli/verbs.h"

namespace bailiff::controller::cli {
namespace {

void AddTable(JsonWriter& json) {
  json.BeginArray("peers");
  for (const PeerRow& peer : Peers()) {
    json.BeginObject().Member("peer", peer.name).BeginArray("from");
    for (const Route& route : peer.routes) {
      json.BeginObject()
          .Member("message", route.message)
          .Member("phases", PhaseNames(route.phases))
          .Member("times", TimesName(route.times))
          .Member("max_bytes", static_cast<std::uint64_t>(route.max_bytes))
          .Member("fields", route.fields)
          .Member("liar", route.liar)
          .End();
    }
    json.End().BeginArray("to");
    for (const SentRow& row : peer.sends) {
      json.BeginObject()
          .Member("message", row.message)
          .Member("phase", row.when)
          .Member("fields", row.fields)
          .End();
    }
    json.End().BeginArray("descriptors");
    for (const DescriptorRow& row : peer.descriptors) {
      json.BeginObject().Member("numbers", row.numbers).Member("what", row.what).End();
    }
    json.End().End();
  }
  json.End();
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
  return text.empty() ? "–" : text;
}

int ShowLive(Context& context, const std::vector<LiveProcess>& processes) {
  Table table;
  table.Row(
      {"PID", "ROLE", "UID", "CAPS P/E/B", "NNP", "SECCOMP", "OWN NAMESPACES", "DESCRIPTORS"});
  JsonWriter json("surface.live");
  json.BeginArray("processes");
  for (const LiveProcess& process : processes) {
    const std::string caps = process.permitted + "/" + process.effective + "/" + process.bounding;
    table.Row({std::to_string(process.pid), process.role, process.uid, caps, process.no_new_privs,
               process.seccomp + " (" + process.filters + ")", Joined(process.namespaces),
               process.readable ? Joined(process.descriptors) : "not readable as this user"});
    json.BeginObject()
        .Member("pid", process.pid)
        .Member("role", process.role)
        .Bytes("uid", process.uid)
        .Member("capabilities_permitted", process.permitted)
        .Member("capabilities_effective", process.effective)
        .Member("capabilities_bounding", process.bounding)
        .Member("no_new_privs", process.no_new_privs)
        .Member("seccomp_mode", process.seccomp)
        .Member("seccomp_filters", process.filters)
        .Member("readable", process.readable)
        .BeginArray("namespaces_of_its_own");
    for (const std::string& name : process.namespaces) json.Element(name);
    json.End().BeginArray("descriptors");
    for (const std::string& name : process.descriptors) json.Element(name);
    json.End().End();
  }
  json.End();
  if (processes.empty()) {
    context.output.Line("no process of bailiff is running");
  } else {
    context.output.Line(table.Text());
  }
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace

Result<int> Surface(Context& context) {
  if (context.command.Has("live")) {
    BAILIFF_TRY_ASSIGN(const std::vector<LiveProcess> processes, FindLiveProcesses());
    return ShowLive(context, processes);
  }
  context.output.Line(SurfaceDocument());
  JsonWriter json("surface");
  AddTable(json);
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
