// SPDX-License-Identifier: Apache-2.0
// The command tree as data: one row a verb. --help, completion, the man page and the parser all
// read these rows, so none of them can say something another does not (contracts, section 6).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace bailiff::controller::cli {

enum class Verb : std::uint8_t {
  kInit,
  kImageImport,
  kImageList,
  kImageShow,
  kImageRemove,
  kImageExport,
  kSourceImport,
  kSourceList,
  kSourceShow,
  kSourceExport,
  kRecipeCheck,
  kRecipeDigest,
  kRecipeExample,
  kRun,
  kCheckCreate,
  kCheckRun,
  kCheckShow,
  kCheckList,
  kCheckLogs,
  kCheckCancel,
  kCheckRecover,
  kEvidenceShow,
  kBackup,
  kGc,
  kSurface,
  kDoctor,
  kVersion,
  kCompletion,
  kHelp,
};

// What an argument names on the host. Everything but kText is opened, as the operator, before the
// program gives up the operator's rights; no later code sees the path as anything but a name to
// print.
enum class Opens : std::uint8_t {
  kText,             // not a file
  kDocument,         // a regular file to read, or "-" for standard input
  kFileOrDirectory,  // a regular file to read (large), "-", or an existing directory
  kDirectory,        // an existing directory
  kNewFile,       // a file that must not exist yet: its parent is opened; or "-", standard output
  kNewDirectory,  // a directory that must not exist yet: its parent is opened
  kWholeFile,     // a file that must not exist yet: it gets its name once it is whole
};

struct Argument {
  std::string_view name;  // as in the synopsis: FILE, REV, ID
  Opens opens = Opens::kText;
  std::string_view help;
  std::string_view words = {};  // closed set of values, separated by '|', for completion
};

struct Option {
  std::string_view name;        // without "--"
  std::string_view value = {};  // placeholder in the synopsis; empty: a flag
  std::string_view help = {};
  std::string_view fallback = {};  // default, as shown
  bool many = false;               // may be given more than once
  bool required = false;
};

// What a verb needs before it can run.
enum class Needs : std::uint8_t {
  kNothing,  // no data directory, no helper
  kProbe,    // looks at the host; a data directory is looked at when there is one
  kCreate,   // makes the data directory
  kStore,    // the data directory
  kHelpers,  // the data directory, and starts helper processes
};

struct VerbRow {
  Verb verb;
  std::string_view noun;  // "image"; for a verb of its own the verb itself: "run"
  std::string_view word;  // "import"; empty for a verb of its own
  std::string_view summary;
  std::string_view text;  // paragraphs for --help and the man page
  std::span<const Argument> arguments;
  std::span<const Option> options;
  Needs needs = Needs::kNothing;
  bool takes_command = false;  // "-- EXE ARG…" follows
};

struct Alias {
  std::string_view name;
  Verb verb;
};

struct ExitRow {
  std::string_view codes;
  std::string_view meaning;
};

std::span<const VerbRow> Verbs();
std::span<const Option> GlobalOptions();
// Verbs as the sources of this project document them; each is one of ours.
std::span<const Alias> Aliases();
// The exit statuses of every command (sysexits.h where it has one).
std::span<const ExitRow> ExitStatuses();

const VerbRow& RowOf(Verb verb);
// nullptr when there is none. `word` is empty for a verb of its own.
const VerbRow* FindVerb(std::string_view noun, std::string_view word);

// The option `--docker EXE` that only aliases take, for scripts written for the seed.
inline constexpr std::string_view kAliasDocker = "docker";

}  // namespace bailiff::controller::cli
