// SPDX-License-Identifier: Apache-2.0
#include "policy/evidence.h"

#include "controller/cli/record_text.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"

namespace bailiff::controller::cli {

Result<int> EvidenceShow(Context& context) {
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const EvidenceRow row, store.GetEvidence(context.command.arguments[0]));
  if (context.command.Has("raw")) {
    context.output.Bytes(row.bytes);
    return 0;
  }
  BAILIFF_TRY_ASSIGN(const policy::CommandRecord record, policy::ParseEvidence(row.bytes));
  if (!context.output.json()) {
    BAILIFF_TRY_ASSIGN(const AttemptRow attempt, store.GetAttempt(row.attempt));
    BAILIFF_TRY_ASSIGN(const policy::CommandRecipe recipe,
                       policy::ParseStoredRecipe(attempt.recipe));
    context.output.Line(RecordBlock(record, row.evidence_id, recipe.limits, context.output));
  }
  JsonWriter json("evidence.show");
  json.Member("evidence_id", row.evidence_id)
      .Member("attempt", row.attempt)
      .Raw("record", row.bytes);
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
