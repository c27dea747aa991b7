// SPDX-License-Identifier: Apache-2.0
#include "policy/evidence.h"

#include <utility>

#include "policy/jcs.h"
#include "policy/json.h"

namespace bailiff::policy {
namespace {

Value AttemptValue(const AttemptRef& attempt) {
  Value value = Value::MakeObject();
  value.Set("id", attempt.id)
      .Set("generation", attempt.generation)
      .Set("request_digest", attempt.request_digest);
  return value;
}

Value SubjectValue(const Subject& subject) {
  Value value = Value::MakeObject();
  value.Set("repository", subject.repository)
      .Set("change", subject.change)
      .Set("change_version", subject.change_version)
      .Set("context_digest", subject.context_digest)
      .Set("context_generation", subject.context_generation)
      .Set("policy_epoch", subject.policy_epoch)
      .Set("revision", subject.revision);
  return value;
}

Value RuntimeValue(const RuntimeRecord& runtime) {
  Value facts = Value::MakeObject();
  for (const auto& [name, text] : runtime.facts) facts.Set(name, text);
  Value value = Value::MakeObject();
  value.Set("identity_digest", runtime.identity_digest)
      .Set("unchanged", runtime.unchanged)
      .Set("facts", std::move(facts));
  return value;
}

Value IsolationValue(const IsolationRecord& isolation) {
  Value filters = Value::MakeObject();
  filters.Set("candidate", isolation.candidate_filter)
      .Set("collector", isolation.collector_filter)
      .Set("snapshotter", isolation.snapshotter_filter);
  Value rows = Value::MakeArray();
  for (const Readback& row : isolation.readback) {
    Value item = Value::MakeObject();
    item.Set("name", row.name)
        .Set("required", row.required)
        .SetIf("before", row.before)
        .SetIf("after", row.after);
    rows.Append(std::move(item));
  }
  Value value = Value::MakeObject();
  value.Set("observed", isolation.observed)
      .Set("filters", std::move(filters))
      .Set("readback", std::move(rows));
  return value;
}

Value ProcessValue(const ProcessEnd& process) {
  Value value = Value::MakeObject();
  value.Set("state", ProcessStateName(process.state))
      .SetIf("code", process.code)
      .SetIf("signal", process.signal)
      .SetIf("errno", process.error);
  if (process.state == ProcessEnd::State::kSignalled) value.Set("core", process.core);
  return value;
}

Value StreamValue(const StreamRecord& stream) {
  Value value = Value::MakeObject();
  value.Set("seen", stream.seen)
      .Set("retained", stream.retained)
      .Set("sha256", stream.sha256)
      .Set("eof", stream.eof);
  return value;
}

Value UsageValue(const Usage& usage) {
  Value value = Value::MakeObject();
  value.SetIf("wall_us", usage.wall_us)
      .SetIf("user_us", usage.user_us)
      .SetIf("system_us", usage.system_us)
      .SetIf("memory_peak_bytes", usage.memory_peak_bytes)
      .SetIf("pids_peak", usage.pids_peak)
      .SetIf("oom_kills", usage.oom_kills)
      .SetIf("pids_refused", usage.pids_refused);
  return value;
}

Value CleanupValue(const CleanupRecord& cleanup) {
  Value proof = Value::MakeArray();
  for (const std::string& word : cleanup.proof) proof.Append(word);
  Value value = Value::MakeObject();
  value.Set("confirmed", cleanup.confirmed).Set("proof", std::move(proof));
  return value;
}

Value TimesValue(const Times& times) {
  Value value = Value::MakeObject();
  value.Set("claimed_unix_ms", times.claimed_unix_ms)
      .SetIf("started_unix_ms", times.started_unix_ms)
      .Set("finished_unix_ms", times.finished_unix_ms)
      .Set("suspended_ms", times.suspended_ms);
  return value;
}

Value WriterValue(const Writer& writer) {
  Value value = Value::MakeObject();
  value.Set("version", writer.version)
      .Set("controller", writer.controller)
      .Set("warden", writer.warden)
      .Set("collector", writer.collector)
      .Set("snapshotter", writer.snapshotter)
      .Set("boot_id", writer.boot_id);
  return value;
}

Value RecordValue(const CommandRecord& record) {
  Value reasons = Value::MakeArray();
  for (const Reason reason : record.reasons) reasons.Append(ReasonName(reason));
  Value value = Value::MakeObject();
  value.Set("schema", kCommandRecordSchema)
      .Set("kind", kCommandKind)
      .Set("attempt", AttemptValue(record.attempt))
      .Set("subject", SubjectValue(record.subject))
      .Set("recipe_digest", record.recipe_digest)
      .Set("toolchain", record.toolchain)
      .Set("environment_digest", record.environment_digest)
      .Set("image", record.image)
      .SetIf("tree", record.tree)
      .SetIf("image_tree", record.image_tree)
      .Set("backend", record.backend)
      .Set("profile_digest", record.profile_digest)
      .Set("runtime", RuntimeValue(record.runtime))
      .Set("isolation", IsolationValue(record.isolation))
      .Set("outcome", OutcomeName(record.outcome))
      .Set("reasons", std::move(reasons))
      .Set("process", ProcessValue(record.process))
      .Set("usage", UsageValue(record.usage))
      .Set("cleanup", CleanupValue(record.cleanup))
      .SetIf("cleanup_handle", record.cleanup_handle)
      .SetIf("qualification", record.qualification)
      .Set("times", TimesValue(record.times))
      .Set("writer", WriterValue(record.writer));
  if (record.capture_incomplete) value.Set("capture_incomplete", true);
  if (record.stopped_by != StoppedBy::kNothing) {
    value.Set("stopped_by", StoppedByName(record.stopped_by));
  }
  if (record.streams.has_value()) {
    Value streams = Value::MakeObject();
    streams.Set("stdout", StreamValue(record.streams->out))
        .Set("stderr", StreamValue(record.streams->err));
    value.Set("streams", std::move(streams));
  }
  return value;
}

}  // namespace

Check CheckBefore(const std::vector<Readback>& rows) {
  Check result = rows.empty() ? Check::kMissing : Check::kMatched;
  for (const Readback& row : rows) {
    if (!row.before.has_value()) {
      if (result == Check::kMatched) result = Check::kMissing;
    } else if (*row.before != row.required) {
      result = Check::kMismatched;
    }
  }
  return result;
}

Check CheckAfter(const std::vector<Readback>& rows) {
  Check result = Check::kMissing;
  for (const Readback& row : rows) {
    if (!row.after.has_value()) continue;
    if (row.before != row.after || *row.after != row.required) return Check::kMismatched;
    result = Check::kMatched;
  }
  return result;
}

Result<Evidence> EncodeEvidence(const CommandRecord& record) {
  BAILIFF_TRY_ASSIGN(std::string bytes, Canonical(RecordValue(record)));
  if (bytes.size() > kMaxDocument) {
    return Error{ErrorCode::kJsonSize,
                 std::to_string(bytes.size()) + " bytes",
                 "evidence is larger than 1048576 bytes",
                 0,
                 {}};
  }
  // A record that would not be admitted as its own re-parse is not written (R9.19).
  BAILIFF_TRY_ASSIGN(const CommandRecord again, ParseEvidence(bytes));
  if (!(again == record)) {
    return Error{ErrorCode::kEvidenceRecord, record.attempt.id, "does not read back as written", 0,
                 "report this; the record was not stored"};
  }
  Evidence evidence;
  evidence.id = HashDomain(kEvidenceDomain, bytes);
  evidence.bytes = std::move(bytes);
  return evidence;
}

}  // namespace bailiff::policy
