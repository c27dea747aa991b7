// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/command_table.h"

namespace bailiff::controller::cli {
namespace {

constexpr std::array kGlobals = {
    Option{"data-dir", "DIR", "where Bailiff keeps its records, objects and images",
           "/var/lib/bailiff for root, ~/.local/state/bailiff otherwise"},
    Option{"cgroup-parent", "DIR", "cgroup below which attempts are made",
           "the caller's own cgroup"},
    Option{"json",
           {},
           "one JSON value on standard output; errors as one JSON value on standard error"},
    Option{"quiet", {}, "nothing on standard error but errors"},
    Option{"no-progress", {}, "no progress line on a terminal"},
    Option{"color", "auto|always|never", "colour; auto: on a terminal, unless NO_COLOR is set",
           "auto"},
    Option{"help", {}, "show help and exit"},
    Option{"version", {}, "show the version and exit"},
};

constexpr Argument kImage{"IMG", Opens::kText,
                          "image id, a unique prefix of 12 hex digits or more, or local name"};
constexpr Argument kRevision{"REV", Opens::kText,
                             "revision id, or a unique prefix of 12 hex digits or more"};
constexpr Argument kAttempt{"ID", Opens::kText, "attempt id"};
constexpr Argument kGeneration{"GEN", Opens::kText,
                               "generation last seen; the verb fails if it has moved on"};
constexpr Argument kReason{"REASON", Opens::kText,
                           "why, in your words; it is kept in the audit log"};
constexpr Argument kRecipe{"FILE", Opens::kDocument, "a recipe in JSON, or - for standard input"};

constexpr Option kBackend{"backend", "native", "what runs the command", "native"};
constexpr Option kRaw{"raw", {}, "pass the command's bytes to a terminal as they are"};

constexpr std::array kImageImportArguments = {Argument{
    "FILE|DIR", Opens::kFileOrDirectory,
    "an OCI layout (a directory or a tar), what docker save wrote, or a root file system as a tar "
    "(plain, gzip, xz or zstd); - for standard input"}};
constexpr std::array kImageImportOptions = {
    Option{"name", "NAME", "a local name for it"},
    Option{"format", "oci|docker|rootfs", "what it is", "what its content says"}};
constexpr std::array kImageExportArguments = {
    kImage,
    Argument{"FILE", Opens::kNewFile, "a file that does not exist yet, or - for standard output"}};
constexpr std::array kImageArguments = {kImage};
constexpr std::array kSourceImportArguments = {Argument{
    "DIR|COMMIT", Opens::kDirectory,
    "the directory, where one .git at its top is left out; or with --git the commit: 40 hex "
    "digits, HEAD, or a full name such as refs/heads/main"}};
constexpr std::array kSourceImportOptions = {
    Option{"git", "REPO", "take a commit of this git repository, which may be bare"},
    Option{"skip-submodules", {}, "leave submodules out and list them; otherwise they are refused"},
};
constexpr std::array kRevisionArguments = {kRevision};
constexpr std::array kSourceShowOptions = {Option{"tree", {}, "list its paths, too"}};
constexpr std::array kSourceExportArguments = {
    kRevision, Argument{"DIR", Opens::kNewDirectory, "a directory that does not exist yet"}};
constexpr std::array kSourceExportOptions = {
    Option{"git", "tree|commit",
           "write a bare git repository with the tree alone, or with a commit of it"}};
constexpr std::array kRecipeArguments = {kRecipe};
constexpr std::array kRecipeExampleOptions = {
    Option{"kind", "command/v1", "which kind of recipe", "command/v1"}};

constexpr std::array kRunOptions = {
    Option{.name = "image",
           .value = "IMG",
           .help = "root file system the command sees",
           .required = true},
    Option{.name = "source",
           .value = "REV|DIR",
           .help = "what it sees at /source; a directory is imported first",
           .required = true},
    Option{"timeout", "TIME", "wall clock, 1ms to 300s", "30s"},
    Option{"memory", "SIZE", "memory and swap together, 16M to 4G", "512M"},
    Option{"scratch", "SIZE", "/scratch, part of memory, 1M to 1G", "64M"},
    Option{"output", "SIZE", "standard output and error together, 256 to 1M", "1M"},
    Option{"pids", "N", "processes and threads, 1 to 256", "64"},
    Option{"cpu", "N", "processors, 0.1 to 4.0", "1.0"},
    Option{
        .name = "env", .value = "NAME=VALUE", .help = "environment of the command", .many = true},
    Option{"toolchain", "H", "digest that names the toolchain in the record", "the image's id"},
    Option{"writable-source",
           {},
           "copy /source to /scratch/source and run there; the copy command is part of the recipe"},
    kBackend,
    kRaw,
    Option{"exit", "outcome", "exit with 0, 1 or 2 by outcome, not with the command's own code"},
};

constexpr std::array kCheckCreateArguments = {
    Argument{"FILE", Opens::kDocument, "a request in JSON, or - for standard input"}};
constexpr std::array kCheckRunArguments = {kAttempt, kGeneration};
constexpr std::array kCheckRunOptions = {kBackend, kRaw};
constexpr std::array kAttemptArguments = {kAttempt};
constexpr std::array kCheckListOptions = {
    Option{"state", "pending|running|finished|cancelled", "only these"},
    Option{"outcome", "OUTCOME", "only these: success, failed, incomplete, timed_out, …"},
    Option{"limit", "N", "at most so many, 1 to 1000", "50"},
    Option{"after", "CURSOR", "go on after the last id of an earlier list"},
};
constexpr std::array kCheckLogsOptions = {
    Option{"stream", "stdout|stderr", "only this stream", "both, standard output first"},
    Option{"follow", {}, "print it as it comes, until the attempt has ended"}, kRaw};
constexpr std::array kCancelArguments = {kAttempt, kGeneration, kReason};
constexpr std::array kRecoverOptions = {
    Option{"abandon-unconfirmed",
           {},
           "finish as indeterminate although it is not known that everything of it is gone"}};
constexpr std::array kEvidenceArguments = {
    Argument{"H", Opens::kText, "evidence id, or a unique prefix of 12 hex digits or more"}};
constexpr std::array kEvidenceOptions = {
    Option{"raw", {}, "the canonical bytes alone, whose digest is the id"}};
constexpr std::array kBackupArguments = {
    Argument{"FILE", Opens::kWholeFile, "a file that does not exist yet"}};
constexpr std::array kGcOptions = {
    Option{"dry-run", {}, "say what would be removed, and remove nothing"}};
constexpr std::array kSurfaceOptions = {
    Option{"live", {}, "what each running process of Bailiff holds, read from /proc"}};
constexpr std::array kDoctorOptions = {kBackend};
constexpr std::array kCompletionArguments = {
    Argument{"SHELL", Opens::kText, "bash, zsh or fish", "bash|zsh|fish"}};

constexpr std::array kVerbs = {
    VerbRow{Verb::kInit,
            "init",
            "",
            "make the data directory",
            "Makes the data directory with its database, and says where it is. Made once; on an "
            "existing one it "
            "says so and changes nothing.",
            {},
            {},
            Needs::kCreate},
    VerbRow{
        Verb::kImageImport, "image", "import", "take an image in",
        "Verifies every digest of an OCI layout or a docker save archive and unpacks its layers "
        "in a confined helper; its id is the SHA-256 of its configuration, the same from both. "
        "A tar of a root file system is named by the digest of its content. Of several "
        "platforms linux/amd64 is taken. "
        "Device files under dev/ are left out, set-id bits are taken off, owners are not kept; "
        "the counts are printed.\n\n"
        "Command, user and working directory of an image are not used. A run is rejected when "
        "the image sets an environment the command does not get, declares volumes, or has a "
        "health command.",
        kImageImportArguments, kImageImportOptions, Needs::kHelpers},
    VerbRow{Verb::kImageList, "image", "list", "list images", "", {}, {}, Needs::kStore},
    VerbRow{Verb::kImageShow,
            "image",
            "show",
            "show one image",
            "",
            kImageArguments,
            {},
            Needs::kStore},
    VerbRow{Verb::kImageRemove,
            "image",
            "remove",
            "remove one image",
            "Refused while an attempt that uses it is pending or running.",
            kImageArguments,
            {},
            Needs::kStore},
    VerbRow{
        Verb::kImageExport,
        "image",
        "export",
        "write an image out as an OCI layout",
        "Writes one tar that holds an OCI layout with one layer and a configuration of its own, "
        "and so an id of its own, which is printed. The same image gives the same bytes.",
        kImageExportArguments,
        {},
        Needs::kHelpers},
    VerbRow{Verb::kSourceImport, "source", "import",
            "take a directory or a git commit in as a revision",
            "Copies a directory, in a confined helper, into content-addressed objects and prints "
            "the revision. "
            "With --git it is one commit of a repository: objects are read and nothing else, no "
            "configuration, hook, filter or attribute; nothing is fetched. "
            "At most 10,000 entries and 256 MiB.",
            kSourceImportArguments, kSourceImportOptions, Needs::kHelpers},
    VerbRow{Verb::kSourceList, "source", "list", "list revisions", "", {}, {}, Needs::kStore},
    VerbRow{
        Verb::kSourceShow, "source", "show", "show one revision",
        "With --tree every path of it, with its kind, the id of its blob and its size in bytes. "
        "A confined helper reads the tree; "
        "what it says is printed only if it hashes to the tree's digest.",
        kRevisionArguments, kSourceShowOptions, Needs::kHelpers},
    VerbRow{Verb::kSourceExport, "source", "export", "write a revision out as a directory",
            "With --git the directory becomes a bare repository. The same files give the tree id "
            "that git gives them; the commit has no parent and no date of its own.",
            kSourceExportArguments, kSourceExportOptions, Needs::kHelpers},
    VerbRow{Verb::kRecipeCheck,
            "recipe",
            "check",
            "say what is wrong with a recipe, all at once",
            "",
            kRecipeArguments,
            {}},
    VerbRow{Verb::kRecipeDigest,
            "recipe",
            "digest",
            "print the digest of a recipe's canonical bytes",
            "",
            kRecipeArguments,
            {}},
    VerbRow{Verb::kRecipeExample,
            "recipe",
            "example",
            "print a recipe to start from",
            "",
            {},
            kRecipeExampleOptions},
    VerbRow{Verb::kRun,
            "run",
            "",
            "run one command in a cell, now, and keep the record",
            "The command sees the image read-only, the revision at /source read-only, an empty "
            "/scratch where it "
            "starts, no network, and nothing else. Its output is passed on as it comes; Bailiff's "
            "own words go to "
            "standard error. The exit status is the command's own (0 only if the outcome is "
            "success), 128 plus the "
            "signal that ended it, or 125 when there is no such verdict.",
            {},
            kRunOptions,
            Needs::kHelpers,
            true},
    VerbRow{Verb::kCheckCreate,
            "check",
            "create",
            "register an attempt",
            "The same id with the same request gives the attempt that is there; with another "
            "request it is refused.",
            kCheckCreateArguments,
            {},
            Needs::kStore},
    VerbRow{Verb::kCheckRun, "check", "run", "run a registered attempt", "", kCheckRunArguments,
            kCheckRunOptions, Needs::kHelpers},
    VerbRow{Verb::kCheckShow,
            "check",
            "show",
            "show one attempt",
            "",
            kAttemptArguments,
            {},
            Needs::kStore},
    VerbRow{Verb::kCheckList,
            "check",
            "list",
            "list attempts, newest first",
            "",
            {},
            kCheckListOptions,
            Needs::kStore},
    VerbRow{Verb::kCheckLogs, "check", "logs", "print what a command wrote", "", kAttemptArguments,
            kCheckLogsOptions, Needs::kStore},
    VerbRow{Verb::kCheckCancel,
            "check",
            "cancel",
            "cancel an attempt, pending or running",
            "",
            kCancelArguments,
            {},
            Needs::kHelpers},
    VerbRow{Verb::kCheckRecover, "check", "recover", "finish an attempt whose owner died",
            "Only when the owner is gone. Destroys what the attempt left, and stores a terminal "
            "outcome once that "
            "is confirmed.",
            kCancelArguments, kRecoverOptions, Needs::kHelpers},
    VerbRow{Verb::kEvidenceShow, "evidence", "show", "print a record",
            "The id is the SHA-256 of \"bailiff.evidence.v1\", one zero byte and the canonical "
            "bytes, which --raw prints.",
            kEvidenceArguments, kEvidenceOptions, Needs::kStore},
    VerbRow{Verb::kBackup,
            "backup",
            "",
            "write a copy that can be restored into one file",
            "A tar of the database as it is at one moment and of every object and image it names, "
            "each object checked "
            "against its digest. Runs and imports go on meanwhile. FILE has its name only once all "
            "of it is on the disk. "
            "To restore: mkdir -m 0700 DIR && tar -xpf FILE --numeric-owner -C DIR, as root, or "
            "without --numeric-owner as "
            "the user whose data it is; then --data-dir DIR. Do not use the copy of a host's data "
            "directory on that host "
            "while the original is in use.",
            kBackupArguments,
            {},
            Needs::kHelpers},
    VerbRow{Verb::kGc,
            "gc",
            "",
            "remove what nothing refers to",
            "Objects and images that no row of the database names, what killed processes left "
            "behind, and, when no attempt runs, the "
            "unpacked trees of sources that no pending attempt asks for; the next attempt makes "
            "its own again. Safe beside everything "
            "else: a part that an import, an attempt or another removal uses is left alone, which "
            "is said. Revisions, named images, "
            "attempts, evidence and output are never removed.",
            {},
            kGcOptions,
            Needs::kHelpers},
    VerbRow{Verb::kSurface,
            "surface",
            "",
            "print every message a helper can say, from the table that runs",
            "",
            {},
            kSurfaceOptions,
            Needs::kProbe},
    VerbRow{Verb::kDoctor,
            "doctor",
            "",
            "say what this host can do, by trying",
            "Exits with 69 when the native backend cannot work here. Never a claim that isolation "
            "holds: nothing of "
            "a candidate is run.",
            {},
            kDoctorOptions,
            Needs::kProbe},
    VerbRow{Verb::kVersion, "version", "", "show the version and exit", "", {}, {}},
    VerbRow{Verb::kCompletion,
            "completion",
            "",
            "print a completion script",
            "",
            kCompletionArguments,
            {}},
    VerbRow{Verb::kHelp, "help", "", "show help", "", {}, {}},
};

constexpr std::array kAliases = {
    Alias{"check-recipe", Verb::kRecipeDigest},
    Alias{"check-source-paths", Verb::kCheckCreate},
    Alias{"check-command", Verb::kCheckCreate},
    Alias{"check-run", Verb::kCheckRun},
    Alias{"check-run-command", Verb::kCheckRun},
    Alias{"check-show", Verb::kCheckShow},
    Alias{"check-command-show", Verb::kCheckShow},
    Alias{"check-evidence", Verb::kEvidenceShow},
    Alias{"check-cancel", Verb::kCheckCancel},
    Alias{"check-cancel-command", Verb::kCheckCancel},
    Alias{"check-recover", Verb::kCheckRecover},
    Alias{"check-recover-command", Verb::kCheckRecover},
};

constexpr std::array kExits = {
    ExitRow{"0", "done; for a check: success"},
    ExitRow{"1", "the check gave a clear no: failed"},
    ExitRow{"2",
            "the check ended without a verdict: incomplete, timed_out, output_limit, cancelled, "
            "unavailable, "
            "indeterminate"},
    ExitRow{"64", "wrong use of the command line"},
    ExitRow{"65", "a document, source or image is not as it must be"},
    ExitRow{"66", "something named was not found"},
    ExitRow{"69", "this host cannot enforce what was asked for"},
    ExitRow{"70", "internal: a program of Bailiff broke its own rules"},
    ExitRow{"73", "something cannot be created"},
    ExitRow{"74", "input or output failed"},
    ExitRow{"75", "lost a race, busy, or unconfirmed: retry at the generation named"},
    ExitRow{"77", "not permitted"},
    ExitRow{"78", "the data directory or the configuration is not right"},
    ExitRow{"129, 130, 143", "SIGHUP, SIGINT, SIGTERM before anything was stored"},
    ExitRow{
        "run",
        "the command's own code (0 only for success), 128 + signal, or 125 when there is neither; "
        "--exit=outcome gives 0, 1, 2 as above"},
};

}  // namespace

std::span<const VerbRow> Verbs() { return kVerbs; }
std::span<const Option> GlobalOptions() { return kGlobals; }
std::span<const Alias> Aliases() { return kAliases; }
std::span<const ExitRow> ExitStatuses() { return kExits; }

const VerbRow& RowOf(Verb verb) {
  for (const VerbRow& row : kVerbs) {
    if (row.verb == verb) return row;
  }
  return kVerbs.back();  // every enumerator has a row: tests/unit/cli walks them
}

const VerbRow* FindVerb(std::string_view noun, std::string_view word) {
  for (const VerbRow& row : kVerbs) {
    if (row.noun == noun && row.word == word) return &row;
  }
  return nullptr;
}

}  // namespace bailiff::controller::cli
