// SPDX-License-Identifier: Apache-2.0
// argv turned into a plain value. The parser library lives in command_line.cc only.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/cli/command_table.h"
#include "ipc/fd.h"
#include "ipc/result.h"

namespace bailiff::controller::cli {

enum class Color : unsigned char { kAuto, kAlways, kNever };

struct Globals {
  std::string data_dir;       // empty: the default of the caller (DefaultDataDirectory)
  std::string cgroup_parent;  // empty: the controller's own cgroup
  bool json = false;
  bool quiet = false;
  bool no_progress = false;
  Color color = Color::kAuto;
};

// A file or directory named on the command line, opened before the operator's rights are given up.
struct Opened {
  ipc::Fd fd;        // kNewDirectory, kNewFile, kWholeFile: the parent
  std::string name;  // as typed; for kNewDirectory, kNewFile and kWholeFile the last component
  ipc::Fd made;      // kNewFile: standard output, when that was named
};

struct Command {
  const VerbRow* row = nullptr;
  Globals globals;
  std::string alias;  // not empty when the verb was written as an alias
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string_view, std::string>> options;  // in the order given
  std::vector<std::string> argv;                                  // what follows "--"
  bool help = false;
  std::string_view help_noun;  // with help and no row: the noun asked about, or empty

  std::vector<Opened> opened;  // one per argument; not valid for kText
  Opened source;               // `run --source DIR`, `source import --git REPO`

  bool Has(std::string_view option) const;
  // The last value given, or nullptr.
  const std::string* Get(std::string_view option) const;
  std::vector<std::string_view> All(std::string_view option) const;
};

// Errors: cli.* (exit 64), naming the nearest word that exists.
Result<Command> ParseCommandLine(int argc, const char* const* argv);
// Whether errors of this command line are to be JSON, also when it cannot be parsed.
bool WantsJson(int argc, const char* const* argv);

// Opens what the arguments name (read-only, close-on-exec, the last component is not followed when
// it is a link). Call as the operator, before host mode.
Result<void> OpenNamed(Command& command);

// root: /var/lib/bailiff; otherwise $XDG_STATE_HOME/bailiff or ~/.local/state/bailiff (XDG base
// directory specification: a relative value is ignored).
Result<std::string> DefaultDataDirectory();

// `--source`: 12 to 64 lower-case hex digits name a revision, everything else a directory.
bool LooksLikeDigest(std::string_view text);

}  // namespace bailiff::controller::cli
