// SPDX-License-Identifier: Apache-2.0
// Reading a record back. What EncodeEvidence would never write is refused, also where the schema
// alone would take it: the last step compares bytes.
#include <limits>
#include <utility>

#include "policy/evidence.h"
#include "policy/jcs.h"
#include "policy/json.h"
#include "policy/recipe.h"

namespace bailiff::policy {
namespace {

// Reads members of one object into fields; a fault leaves the field as it was.
class Fields {
 public:
  Fields(const Value& value, std::string pointer, Faults& faults)
      : faults_(faults), members_(value, pointer, faults) {}
  ~Fields() { members_.Finish(); }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  void Read(std::string_view name, std::string& out) { Keep(members_.String(name), out); }
  void Read(std::string_view name, std::uint64_t& out) { Keep(members_.Number(name), out); }
  void Read(std::string_view name, bool& out) { Keep(members_.Boolean(name), out); }
  void Read(std::string_view name, Digest& out) { Keep(members_.Hash(name), out); }
  template <class T>
  void Read(std::string_view name, std::optional<T>& out) {
    members_.Optional(name);
    if (!members_.Has(name)) return;
    T value{};
    Read(name, value);
    out = std::move(value);
  }
  void Read(std::string_view name, int& out) {
    const std::optional<std::uint64_t> number = members_.Number(name);
    if (!number.has_value()) return;
    if (*number > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
      Refuse(name, "out of range");
      return;
    }
    out = static_cast<int>(*number);
  }
  // A name of a closed list.
  template <class T, class Parse>
  void Word(std::string_view name, T& out, Parse parse) {
    const std::optional<std::string> text = members_.String(name);
    if (!text.has_value()) return;
    const auto value = parse(*text);
    if (value.has_value()) {
      out = *value;
    } else {
      Refuse(name, "\"" + *text + "\" is not a known word");
    }
  }
  void Exactly(std::string_view name, std::string_view wanted) {
    const std::optional<std::string> text = members_.String(name);
    if (text.has_value() && *text != wanted) Refuse(name, "\"" + *text + "\" is not known here");
  }
  template <class Function>
  void Object(std::string_view name, Function read) {
    if (const Value* value = members_.Required(name); value != nullptr) {
      Fields inner(*value, Child(members_.pointer(), name), faults_);
      read(inner);
    }
  }
  template <class Function>
  void Each(std::string_view name, Function read) {
    const Value::Array* list = members_.List(name);
    if (list == nullptr) return;
    for (std::size_t i = 0; i < list->size(); ++i) {
      read((*list)[i], Child(Child(members_.pointer(), name), i));
    }
  }
  const Value* Optional(std::string_view name) { return members_.Optional(name); }
  void Refuse(std::string_view name, std::string why) {
    faults_.Add(Child(members_.pointer(), name), ErrorCode::kEvidenceRecord, std::string(name),
                std::move(why));
  }

 private:
  template <class T>
  static void Keep(std::optional<T> value, T& out) {
    if (value.has_value()) out = *std::move(value);
  }

  Faults& faults_;
  Members members_;
};

void ReadStream(Fields& in, StreamRecord& out) {
  in.Read("seen", out.seen);
  in.Read("retained", out.retained);
  in.Read("sha256", out.sha256);
  in.Read("eof", out.eof);
}

void ReadProcess(Fields& in, ProcessEnd& out) {
  in.Word("state", out.state, ParseProcessState);
  in.Read("code", out.code);
  in.Read("signal", out.signal);
  in.Read("errno", out.error);
  std::optional<bool> core;
  in.Read("core", core);
  out.core = core.value_or(false);
  const bool signalled = out.state == ProcessEnd::State::kSignalled;
  if (signalled != core.has_value() || signalled != out.signal.has_value()) {
    in.Refuse("signal", "signal and core belong to state signalled and to no other");
  }
  const bool coded =
      out.state == ProcessEnd::State::kExited || out.state == ProcessEnd::State::kAmbiguous;
  if (coded != out.code.has_value()) in.Refuse("code", "code belongs to state exited");
  if (out.error.has_value() && out.state != ProcessEnd::State::kNotStarted) {
    in.Refuse("errno", "errno belongs to state not_started");
  }
}

void ReadIsolation(Fields& in, IsolationRecord& out, Faults& faults) {
  in.Read("observed", out.observed);
  in.Object("filters", [&](Fields& filters) {
    filters.Read("candidate", out.candidate_filter);
    filters.Read("collector", out.collector_filter);
    filters.Read("snapshotter", out.snapshotter_filter);
  });
  in.Each("readback", [&](const Value& value, const std::string& pointer) {
    Fields row(value, pointer, faults);
    Readback& readback = out.readback.emplace_back();
    row.Read("name", readback.name);
    row.Read("required", readback.required);
    row.Read("before", readback.before);
    row.Read("after", readback.after);
  });
}

void ReadIdentity(Fields& in, CommandRecord& record) {
  in.Exactly("schema", kCommandRecordSchema);
  in.Exactly("kind", kCommandKind);
  in.Object("attempt", [&](Fields& attempt) {
    attempt.Read("id", record.attempt.id);
    attempt.Read("generation", record.attempt.generation);
    attempt.Read("request_digest", record.attempt.request_digest);
  });
  in.Object("subject", [&](Fields& subject) {
    subject.Read("repository", record.subject.repository);
    subject.Read("change", record.subject.change);
    subject.Read("change_version", record.subject.change_version);
    subject.Read("context_digest", record.subject.context_digest);
    subject.Read("context_generation", record.subject.context_generation);
    subject.Read("policy_epoch", record.subject.policy_epoch);
    subject.Read("revision", record.subject.revision);
  });
  in.Read("recipe_digest", record.recipe_digest);
  in.Read("toolchain", record.toolchain);
  in.Read("environment_digest", record.environment_digest);
  in.Read("image", record.image);
  if (!IsImageId(record.image)) in.Refuse("image", "not an image id");
  in.Read("tree", record.tree);
  in.Read("image_tree", record.image_tree);
  in.Read("backend", record.backend);
  in.Read("profile_digest", record.profile_digest);
}

void ReadRuntime(Fields& in, RuntimeRecord& runtime, Faults& faults) {
  in.Read("identity_digest", runtime.identity_digest);
  in.Read("unchanged", runtime.unchanged);
  const Value* facts = in.Optional("facts");
  if (facts == nullptr || facts->object() == nullptr) {
    in.Refuse("facts", "must be an object");
    return;
  }
  for (const Value::Member& fact : *facts->object()) {
    if (fact.value.string() == nullptr) {
      faults.Add("/runtime/facts", ErrorCode::kEvidenceRecord, fact.name, "must be a string");
      continue;
    }
    runtime.facts[fact.name] = *fact.value.string();
  }
}

void ReadResult(Fields& in, CommandRecord& record) {
  in.Word("outcome", record.outcome, ParseOutcome);
  in.Each("reasons", [&](const Value& value, const std::string&) {
    const auto reason = value.string() == nullptr ? std::nullopt : ParseReason(*value.string());
    if (reason.has_value()) {
      record.reasons.push_back(*reason);
    } else {
      in.Refuse("reasons", "holds what is no reason");
    }
  });
  in.Object("process", [&](Fields& process) { ReadProcess(process, record.process); });
  std::optional<bool> capture_incomplete;
  in.Read("capture_incomplete", capture_incomplete);
  record.capture_incomplete = capture_incomplete.value_or(false);
  if (in.Optional("stopped_by") != nullptr) {
    in.Word("stopped_by", record.stopped_by, ParseStoppedBy);
  }
  if (in.Optional("streams") != nullptr) {
    Streams& streams = record.streams.emplace();
    in.Object("streams", [&](Fields& both) {
      both.Object("stdout", [&](Fields& stream) { ReadStream(stream, streams.out); });
      both.Object("stderr", [&](Fields& stream) { ReadStream(stream, streams.err); });
    });
  }
}

void ReadAccount(Fields& in, CommandRecord& record) {
  in.Object("usage", [&](Fields& usage) {
    usage.Read("wall_us", record.usage.wall_us);
    usage.Read("user_us", record.usage.user_us);
    usage.Read("system_us", record.usage.system_us);
    usage.Read("memory_peak_bytes", record.usage.memory_peak_bytes);
    usage.Read("pids_peak", record.usage.pids_peak);
    usage.Read("oom_kills", record.usage.oom_kills);
    usage.Read("pids_refused", record.usage.pids_refused);
  });
  in.Object("cleanup", [&](Fields& cleanup) {
    cleanup.Read("confirmed", record.cleanup.confirmed);
    cleanup.Each("proof", [&](const Value& value, const std::string&) {
      if (value.string() != nullptr) {
        record.cleanup.proof.push_back(*value.string());
      } else {
        cleanup.Refuse("proof", "holds what is no word");
      }
    });
  });
  if (const Value* handle = in.Optional("cleanup_handle"); handle != nullptr) {
    if (handle->object() == nullptr) in.Refuse("cleanup_handle", "must be an object");
    record.cleanup_handle = *handle;
  }
  in.Read("qualification", record.qualification);
  in.Object("times", [&](Fields& times) {
    times.Read("claimed_unix_ms", record.times.claimed_unix_ms);
    times.Read("started_unix_ms", record.times.started_unix_ms);
    times.Read("finished_unix_ms", record.times.finished_unix_ms);
    times.Read("suspended_ms", record.times.suspended_ms);
  });
  in.Object("writer", [&](Fields& writer) {
    writer.Read("version", record.writer.version);
    writer.Read("controller", record.writer.controller);
    writer.Read("warden", record.writer.warden);
    writer.Read("collector", record.writer.collector);
    writer.Read("snapshotter", record.writer.snapshotter);
    writer.Read("boot_id", record.writer.boot_id);
  });
}

}  // namespace

Result<CommandRecord> ParseEvidence(std::string_view bytes) {
  BAILIFF_TRY_ASSIGN(const Value value, ParseCanonical(bytes));
  Faults faults;
  CommandRecord record;
  {
    Fields in(value, "", faults);
    ReadIdentity(in, record);
    in.Object("runtime", [&](Fields& runtime) { ReadRuntime(runtime, record.runtime, faults); });
    in.Object("isolation",
              [&](Fields& isolation) { ReadIsolation(isolation, record.isolation, faults); });
    ReadResult(in, record);
    ReadAccount(in, record);
    if (in.Optional("capture_incomplete") != nullptr && !record.capture_incomplete) {
      in.Refuse("capture_incomplete", "is written only when true");
    }
  }
  if (!faults.empty()) return faults.ToError();
  return record;
}

}  // namespace bailiff::policy
