// SPDX-License-Identifier: Apache-2.0
// What this host can do, found by doing it: namespaces in a child, host mode itself, a cgroup made,
// limited, read back and removed, the data directory opened and checked. No image is looked for, no
// command run, and nothing is said about isolation: that needs a canary run (R16.01 to R16.05).
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>

#include "controller/cli/escape.h"
#include "controller/cli/help.h"
#include "controller/cli/host_probe.h"
#include "controller/cli/host_request.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"
#include "controller/store/data_directory.h"
#include "controller/supervisor/cgroup.h"

namespace bailiff::controller::cli {
namespace {

struct Disk {
  std::uint64_t free_bytes = 0;
  std::uint64_t free_inodes = 0;
};

struct StoreFacts {
  StoreCounts counts;
  std::int64_t images = 0;
  std::int64_t image_bytes = 0;
  std::int64_t revisions = 0;
  std::string repository;
};

struct Examination {
  std::vector<Finding> findings;
  std::string path;
  bool data_there = false;
  std::optional<StoreFacts> store;
  std::optional<Disk> disk;
  std::string kernel;
  std::int64_t unix_ms = 0;

  bool usable() const {
    bool all = true;
    for (const Finding& finding : findings) all = all && (finding.ok() || !finding.needed);
    return all;
  }
  void Add(std::string name, std::string text) {
    findings.push_back({std::move(name), std::move(text), {}, true});
  }
  void Fail(std::string name, Error error, bool needed = true) {
    findings.push_back({std::move(name), {}, {std::move(error)}, needed});
  }
};

std::string IdsText(const HostIdPlan& plan) {
  if (plan.count == 0) {
    return "one id for every process: no range in /etc/subuid and /etc/subgid (policy/THREATS.md "
           "says what it costs)";
  }
  return "a pair for each of " + std::to_string(plan.count / kIdsPerSlot) +
         " attempts at once, from " + std::to_string(plan.first);
}

// Makes a cgroup with the smallest limits, reads them back, removes it.
Result<std::string> TryCgroup(HostMode& host) {
  // A subtree of its own, so that it can be taken away whatever else runs.
  const std::string repository(32, '0');
  BAILIFF_TRY_ASSIGN(const CgroupSubtree subtree, CgroupSubtree::Open(host, repository));
  const CellLimits limits{16ULL << 20, 16, 1000};
  AttemptCgroup cgroup;
  if (auto made =
          cgroup.Make(subtree, "doctor." + std::to_string(getpid()), limits, host.Slot(0).helper);
      !made.ok()) {
    static_cast<void>(cgroup.Remove());  // what was made of it
    return made.error();
  }
  const Result<std::vector<policy::Readback>> rows = cgroup.ReadLimits();
  const Result<void> removed = cgroup.Remove();
  BAILIFF_TRY(rows);
  BAILIFF_TRY(removed);
  for (const policy::Readback& row : *rows) {
    if (row.before != row.required) {
      return Error{ErrorCode::kLimitNotEnforceable,
                   row.name,
                   "set to " + row.required + ", reads " + row.before.value_or("nothing"),
                   0,
                   {}};
    }
  }
  std::string text = subtree.version() == 2 ? "v2" : "v1 (hybrid)";
  return text + ": memory, pids, cpu set and read back, " + std::to_string(rows->size()) +
         " values";
}

Result<StoreFacts> TryStore(Context& context) {
  StoreFacts facts;
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY(store.CheckIntegrity(false));
  BAILIFF_TRY_ASSIGN(facts.counts, store.Counts());
  BAILIFF_TRY_ASSIGN(const Authority authority, store.GetAuthority());
  facts.repository = authority.repository;
  BAILIFF_TRY_ASSIGN(const std::vector<ImageRow> images, store.ListImages());
  BAILIFF_TRY_ASSIGN(const std::vector<RevisionRow> revisions, store.ListRevisions());
  facts.images = static_cast<std::int64_t>(images.size());
  facts.revisions = static_cast<std::int64_t>(revisions.size());
  for (const ImageRow& row : images) facts.image_bytes += row.bytes;
  return facts;
}

// The data directory on the host's paths, before host mode. Invalid when there is none.
ipc::Fd FindData(const Command& command, const HostIdPlan& plan, Examination& exam) {
  Result<std::string> path = DataDirectoryOf(command);
  if (!path.ok()) {
    exam.Fail("data directory", path.error(), false);
    return {};
  }
  exam.path = *path;
  Result<ipc::Fd> data = OpenDataDirectory(*path, plan.service_uid);
  if (!data.ok()) {
    if (data.error().code != ErrorCode::kDataMissing) exam.Fail("data directory", data.error());
    return {};
  }
  exam.data_there = true;
  struct statvfs status {};
  if (fstatvfs(data->get(), &status) == 0) {
    exam.disk = Disk{status.f_bavail * status.f_frsize, status.f_favail};
  }
  return std::move(data).value();
}

Examination Examine(Context& context) {
  Examination exam;
  exam.unix_ms = static_cast<std::int64_t>(std::time(nullptr)) * 1000;
  utsname names{};
  if (uname(&names) == 0) exam.kernel = names.release;
  exam.findings.push_back(ProbeNamespaces());
  exam.findings.push_back(ProbeSeccomp());
  exam.findings.push_back(ProbeLandlock());
  Result<HostIdPlan> plan = PlanHostIds();
  if (!plan.ok()) {
    exam.Fail("host ids", plan.error());
    return exam;
  }
  exam.Add("host ids", IdsText(*plan));
  context.operator_json = OperatorJson();
  HostModeRequest request;
  request.data_directory = FindData(context.command, *plan, exam);
  request.cgroup_parent = context.command.globals.cgroup_parent;
  Result<HostMode> host = EnterHostMode(std::move(request));
  if (!host.ok()) {
    exam.Fail("host mode", host.error());
    return exam;
  }
  exam.Add("host mode", "no capability on the host left, helpers found");
  context.host = &host.value();
  Result<std::string> cgroup = TryCgroup(*host);
  if (cgroup.ok()) {
    exam.Add("cgroups", *cgroup);
  } else {
    exam.Fail("cgroups", cgroup.error());
  }
  if (exam.data_there) {
    Result<StoreFacts> facts = TryStore(context);
    if (facts.ok()) {
      exam.store = *facts;
    } else {
      exam.Fail("store", facts.error());
    }
  }
  if (host->preparer.has_value()) {
    const Result<void> removed = host->preparer->RemoveCgroups();
    if (cgroup.ok() && !removed.ok()) exam.Fail("cgroups left over", removed.error(), false);
  }
  context.host = nullptr;
  return exam;
}

std::string ErrorLine(const Error& error) {
  std::string text = EscapeName(error.subject);
  if (!error.why.empty()) text += (text.empty() ? "" : ": ") + EscapeName(error.why);
  return text + " [" + std::string(Info(error.code).name) + "]";
}

std::string_view FixOf(const Error& error) {
  return error.fix.empty() ? Info(error.code).fix : error.fix;
}

void Print(const Examination& exam, Output& output) {
  Table table;
  const std::string verdict = exam.usable() ? output.Paint(Style::kGood, "usable")
                                            : output.Paint(Style::kBad, "not usable");
  table.Row({"runtime", "native", verdict + "   kernel " + EscapeName(exam.kernel)});
  for (const Finding& finding : exam.findings) {
    if (finding.ok()) {
      table.Row({"", finding.name, finding.text});
      continue;
    }
    table.Row({"", finding.name, output.Paint(Style::kBad, ErrorLine(finding.errors.front()))});
    table.Row({"", "", "fix: " + EscapeName(FixOf(finding.errors.front()))});
  }
  table.Row({"qualified", "native",
             "no: no canary was ever run on this host; nothing here says that isolation holds"});
  if (exam.store.has_value()) {
    const StoreCounts& counts = exam.store->counts;
    table.Row({"store", "schema " + std::to_string(counts.schema),
               "integrity ok, " + ShowCount(static_cast<std::uint64_t>(counts.attempts)) +
                   " attempts, " + std::to_string(counts.running) + " running, " +
                   std::to_string(counts.running_with_custody) +
                   " of them holding something to destroy"});
    table.Row({"", "objects",
               ShowCount(static_cast<std::uint64_t>(exam.store->images)) + " images (" +
                   ShowBytes(static_cast<std::uint64_t>(exam.store->image_bytes)) + "), " +
                   ShowCount(static_cast<std::uint64_t>(exam.store->revisions)) + " revisions"});
  } else if (!exam.data_there && !exam.path.empty()) {
    table.Row({"store", "none", EscapeName(exam.path) + " is not there yet. fix: bailiff init"});
  }
  if (exam.disk.has_value()) {
    table.Row({"disk", "free", ShowBytes(exam.disk->free_bytes) + " at " + EscapeName(exam.path)});
  }
  table.Row({"looked at", ShowTime(exam.unix_ms)});
  output.Line(table.Text());
}

void AddFindings(const Examination& exam, JsonWriter& json) {
  json.BeginObject("native").Member("usable", exam.usable()).Member("qualified", false);
  json.Member("executed", false).Member("isolation_verified", false).BeginArray("findings");
  for (const Finding& finding : exam.findings) {
    json.BeginObject()
        .Member("name", finding.name)
        .Member("ok", finding.ok())
        .Member("needed", finding.needed);
    if (finding.ok()) {
      json.Member("text", finding.text);
    } else {
      const Error& error = finding.errors.front();
      json.Member("code", Info(error.code).name)
          .Bytes("subject", error.subject)
          .Bytes("why", error.why);
      if (error.system_error != 0) json.Member("errno", error.system_error);
      json.Member("fix", FixOf(error));
    }
    json.End();
  }
  json.End().End();
}

}  // namespace

Result<int> Doctor(Context& context) {
  constexpr int kUnavailable = 69;
  const Examination exam = Examine(context);
  Print(exam, context.output);
  JsonWriter json("doctor");
  json.Member("checked_unix_ms", exam.unix_ms)
      .Member("version", kVersion)
      .Bytes("kernel", exam.kernel);
  AddFindings(exam, json);
  json.BeginObject("data").Bytes("path", exam.path).Member("exists", exam.data_there);
  if (exam.disk.has_value()) {
    json.Member("free_bytes", exam.disk->free_bytes).Member("free_inodes", exam.disk->free_inodes);
  }
  if (exam.store.has_value()) {
    json.Member("repository", exam.store->repository)
        .Member("schema", exam.store->counts.schema)
        .Member("integrity", true)
        .Member("attempts", exam.store->counts.attempts)
        .Member("pending", exam.store->counts.pending)
        .Member("running", exam.store->counts.running)
        .Member("running_with_custody", exam.store->counts.running_with_custody)
        .Member("images", exam.store->images)
        .Member("image_bytes", exam.store->image_bytes)
        .Member("revisions", exam.store->revisions);
  }
  json.End();
  context.output.Json(std::move(json));
  return exam.usable() ? 0 : kUnavailable;
}

}  // namespace bailiff::controller::cli
