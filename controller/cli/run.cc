// SPDX-License-Identifier: Apache-2.0
// `run`: image and source looked up or imported, a change, context and attempt of its own made and
// claimed in one commit, run in front of the caller.
#include "controller/cli/execute.h"
#include "controller/cli/jobs.h"
#include "controller/cli/run_flags.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"
#include "controller/store/layout.h"
#include "policy/context.h"
#include "policy/request.h"

namespace bailiff::controller::cli {
namespace {

// The revision id the command line names, imported first when it names a directory.
Result<std::string> Revision(Context& context, Store& store, OwnersLock& locks, const JobHost& jobs,
                             const Interrupts& interrupts) {
  const std::string& source = *context.command.Get("source");
  if (LooksLikeDigest(source)) {
    BAILIFF_TRY_ASSIGN(const RevisionRow row, store.FindRevision(source));
    return row.revision;
  }
  BAILIFF_TRY_ASSIGN(const RevisionInfo info,
                     ImportSource(context, store, locks, jobs, context.host->operands[0].get(),
                                  nullptr, interrupts));
  NoteWarnings(context.output, info.warnings);
  return info.revision.hex();
}

Result<RunBinding> Bind(const policy::CommandRecipe& recipe, const RunNames& names) {
  policy::ContextBinding binding;
  binding.change = names.id;
  binding.generation = 1;
  binding.policy_epoch = static_cast<std::uint64_t>(names.policy_epoch);
  binding.repository = names.repository;
  const auto revision = policy::ParseDigest(names.revision);
  if (!revision.has_value())
    return Error{ErrorCode::kRevisionUnknown, names.revision, "not a digest", 0, {}};
  binding.revision = *revision;
  BAILIFF_TRY_ASSIGN(const policy::BoundContext bound,
                     policy::BindContext(binding, policy::ContextOfRecipe(recipe)));
  policy::CheckRequest request{names.id,     names.repository, names.id, 1,
                               bound.digest, *revision,        recipe};
  RunBinding result;
  result.context_digest = bound.digest.hex();
  result.bound_json = bound.bytes;
  BAILIFF_TRY_ASSIGN(result.request_json, policy::CanonicalRequest(request));
  return result;
}

}  // namespace

Result<int> Run(Context& context) {
  policy::Faults faults;
  std::optional<RunFlags> flags = ParseRunFlags(context.command, faults);
  if (!flags.has_value()) return context.output.Fail(faults, "");
  policy::CommandRecipe& recipe = flags->recipe;
  BAILIFF_TRY_ASSIGN(const Interrupts interrupts, Interrupts::Block());
  BAILIFF_TRY(CheckFormat(context.host->data.get()));
  BAILIFF_TRY_ASSIGN(OwnersLock locks, OwnersLock::Open(context.host->data.get()));
  BAILIFF_TRY_ASSIGN(AttemptOwner owner, PrepareOwner(context, locks));
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const ImageRow image, FindImage(store, *context.command.Get("image")));
  recipe.image = image.image;
  if (!flags->toolchain_given) {
    const auto digest =
        policy::ParseDigest(std::string_view(image.image).substr(image.image.find(':') + 1));
    if (!digest.has_value())
      return Error{ErrorCode::kImageUnknown, image.image, "not an image id", 0, {}};
    recipe.toolchain = *digest;
  }
  RunChangeInput input;
  BAILIFF_TRY_ASSIGN(input.revision, Revision(context, store, locks, owner.Jobs(), interrupts));
  input.kind = policy::kCommandKind;
  input.recipe = policy::CanonicalRecipe(recipe);
  input.recipe_digest = policy::RecipeDigest(recipe).hex();
  input.toolchain = recipe.toolchain.hex();
  input.environment_digest = policy::EnvironmentDigest(recipe.environment).hex();
  input.bind = [&recipe](const RunNames& names) { return Bind(recipe, names); };
  input.claim = [&owner](const AttemptRow& pending) { return owner.Claim(pending); };
  BAILIFF_TRY(owner.Ready());
  if (interrupts.Pending()) return Error{ErrorCode::kCancelled, {}, "nothing was stored", 0, {}};
  BAILIFF_TRY_ASSIGN(const AttemptRow row, store.CreateRunChange(input));
  BAILIFF_TRY_ASSIGN(const AttemptReport report,
                     Execute(context, store, owner, row, interrupts, "run"));
  if (context.command.Has("exit")) return policy::OutcomeExit(report.record.outcome);
  return RunExit(report.record);
}

}  // namespace bailiff::controller::cli
