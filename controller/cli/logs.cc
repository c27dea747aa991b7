// SPDX-License-Identifier: Apache-2.0
// What a command wrote: kept with its record, and in a spool beside the database while it runs.
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "controller/cli/escape.h"
#include "controller/cli/record_text.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"
#include "controller/store/owners_lock.h"
#include "policy/evidence.h"

namespace bailiff::controller::cli {
namespace {

Result<std::string> Recorded(Store& store, const AttemptRow& row, std::string_view stream) {
  if (!row.evidence_id.has_value()) return std::string();
  BAILIFF_TRY_ASSIGN(const EvidenceRow evidence, store.GetEvidence(*row.evidence_id));
  BAILIFF_TRY_ASSIGN(const policy::CommandRecord record, policy::ParseEvidence(evidence.bytes));
  if (!record.streams.has_value()) return std::string();
  const policy::StreamRecord& wanted =
      stream == "stdout" ? record.streams->out : record.streams->err;
  if (wanted.retained == 0) return std::string();
  return store.GetOutput(wanted.sha256.hex());
}

// One stream of one attempt, read in order and once.
class LogStream {
 public:
  LogStream(std::string_view name, bool escape) : name_(name), escape_(escape) {}

  const std::string& bytes() const { return bytes_; }

  // What has come since the last call, as it is printed.
  Result<std::string> Next(int data, Store& store, const AttemptRow& row) {
    const std::size_t before = bytes_.size();
    if (row.state == AttemptState::kRunning) {
      BAILIFF_TRY(ReadSpool(data, row));
    } else if (row.state != AttemptState::kPending) {
      // The spool is a beginning of it: the owner stored the bytes it had spooled.
      BAILIFF_TRY_ASSIGN(std::string all, Recorded(store, row, name_));
      if (all.size() > before) bytes_ = std::move(all);
    }
    std::string fresh = bytes_.substr(before);
    return escape_ ? escaper_.Next(fresh) : fresh;
  }
  std::string Rest() { return escape_ ? escaper_.Finish() : std::string(); }

 private:
  Result<void> ReadSpool(int data, const AttemptRow& row) {
    if (!spool_.valid()) {
      const std::string name = "execution/output-" + row.id + "-" + std::to_string(row.generation) +
                               "." + std::string(name_);
      Result<ipc::Fd> spool = ipc::OpenAt(data, name.c_str(), O_RDONLY | O_NOFOLLOW);
      if (!spool.ok() && spool.error().system_error == ENOENT) return {};  // nothing yet
      if (!spool.ok()) return std::move(spool).error();
      spool_ = std::move(*spool);
    }
    std::array<char, 65536> piece;
    for (;;) {
      const ssize_t got =
          pread(spool_.get(), piece.data(), piece.size(), static_cast<off_t>(bytes_.size()));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return SystemError("pread", name_);
      if (got == 0) return {};
      bytes_.append(piece.data(), static_cast<std::size_t>(got));
      if (bytes_.size() > kMaxOutput) return SystemError("pread", name_, EFBIG);
    }
  }

  std::string_view name_;
  bool escape_;
  StreamEscaper escaper_;
  std::string bytes_;
  ipc::Fd spool_;
};

// Wakes its caller when a spool or the database changes.
class Changes {
 public:
  static Result<Changes> Watch() {
    ipc::Fd watches(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!watches.valid()) return Limited("inotify_init1");
    const std::string data = kDataMount;
    for (const std::string& path : {data + "/execution", data + "/state.sqlite-wal"}) {
      if (inotify_add_watch(watches.get(), path.c_str(), IN_CREATE | IN_MODIFY | IN_DELETE) < 0)
        return Limited("inotify_add_watch");
    }
    return Changes(std::move(watches));
  }

  // At most a second: that an owner died changes no file. False: nobody reads standard output.
  bool Wait() {
    constexpr int kSecond = 1000;
    std::array<pollfd, 2> pollers{pollfd{watches_.get(), POLLIN, 0}, pollfd{STDOUT_FILENO, 0, 0}};
    poll(pollers.data(), pollers.size(), kSecond);
    if ((pollers[1].revents & POLLERR) != 0) return false;
    std::array<char, 4096> events;  // what happened is looked up, not believed
    while (read(watches_.get(), events.data(), events.size()) > 0) continue;
    return true;
  }

 private:
  explicit Changes(ipc::Fd watches) : watches_(std::move(watches)) {}
  static Error Limited(const char* call) {
    Error error = SystemError(call, "changes of the data directory");
    if (error.system_error == ENOSPC) error.fix = "sysctl fs.inotify.max_user_watches=8192";
    if (error.system_error == EMFILE) error.fix = "sysctl fs.inotify.max_user_instances=512";
    return error;
  }
  ipc::Fd watches_;
};

// An attempt recorded as running whose owner has died: nothing more will come of it.
Result<bool> IsOrphan(Store& store, OwnersLock& locks, const AttemptRow& row) {
  if (row.state != AttemptState::kRunning) return false;
  BAILIFF_TRY_ASSIGN(const bool held, locks.RowHeld(row.row));
  if (held) return false;
  // Its owner may have finished it, and let go of the byte, since the row was read.
  BAILIFF_TRY_ASSIGN(const AttemptRow again, store.GetAttempt(row.id));
  return again.state == AttemptState::kRunning && again.generation == row.generation;
}

struct Wanted {
  std::vector<LogStream> streams;
  bool silent;  // the bytes are a part of the JSON value

  Result<void> Print(Context& context, Store& store, const AttemptRow& row) {
    for (LogStream& stream : streams) {
      BAILIFF_TRY_ASSIGN(const std::string text, stream.Next(context.host->data.get(), store, row));
      if (!silent) context.output.Bytes(text);
    }
    return {};
  }
};

Result<AttemptRow> Follow(Context& context, Store& store, Wanted& wanted) {
  const std::string& id = context.command.arguments[0];
  BAILIFF_TRY_ASSIGN(OwnersLock locks, OwnersLock::Open(context.host->data.get()));
  BAILIFF_TRY_ASSIGN(Changes changes, Changes::Watch());
  for (;;) {
    BAILIFF_TRY_ASSIGN(AttemptRow row, store.GetAttempt(id));
    BAILIFF_TRY(wanted.Print(context, store, row));
    BAILIFF_TRY(context.output.Flush());
    if (row.state == AttemptState::kFinished || row.state == AttemptState::kCancelled) return row;
    BAILIFF_TRY_ASSIGN(const bool orphan, IsOrphan(store, locks, row));
    if (orphan) {
      return Error{
          ErrorCode::kOwnerDead, row.id, "its owner has died", 0,
          "bailiff check recover " + row.id + " " + std::to_string(row.generation) + " REASON"};
    }
    if (!changes.Wait()) return row;
  }
}

// The row and the bytes of one moment: an attempt that ends between the two has no spool any more.
Result<AttemptRow> Once(Context& context, Store& store, Wanted& wanted) {
  BAILIFF_TRY_ASSIGN(AttemptRow row, store.GetAttempt(context.command.arguments[0]));
  BAILIFF_TRY(wanted.Print(context, store, row));
  if (row.state != AttemptState::kRunning) return row;
  BAILIFF_TRY_ASSIGN(AttemptRow again, store.GetAttempt(row.id));
  if (again.state == AttemptState::kRunning) return row;
  BAILIFF_TRY(wanted.Print(context, store, again));
  return again;
}

}  // namespace

Result<int> CheckLogs(Context& context) {
  const std::string* only = context.command.Get("stream");
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  const bool escape = context.output.out_is_terminal() && !context.command.Has("raw");
  std::vector<std::string_view> names;
  Wanted wanted{{}, context.output.json()};
  for (const std::string_view stream : {"stdout", "stderr"}) {
    if (only != nullptr && *only != stream) continue;
    names.push_back(stream);
    wanted.streams.emplace_back(stream, escape);
  }
  BAILIFF_TRY_ASSIGN(const AttemptRow row, context.command.Has("follow")
                                               ? Follow(context, store, wanted)
                                               : Once(context, store, wanted));
  JsonWriter json("check.logs");
  json.Member("attempt", row.id).Member("state", ToString(row.state));
  for (std::size_t i = 0; i < names.size(); ++i) {
    json.Member(std::string(names[i]) + "_base64", Base64(wanted.streams[i].bytes()));
    if (!wanted.silent) context.output.Bytes(wanted.streams[i].Rest());
  }
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
