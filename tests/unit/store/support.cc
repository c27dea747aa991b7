// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/store/support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "controller/store/data_directory.h"
#include "controller/store/database.h"
#include "policy/digest.h"

namespace bailiff::controller::test {
namespace {

// A tmpfs: hundreds of data directories are made and removed, and what a sync does is not ours to
// test. Faults of writes and syncs are injected above the file system.
constexpr const char* kParent = "/dev/shm/";

template <class T>
T Must(Result<T> result, const char* doing) {
  if (!result.ok()) {
    fprintf(stderr, "%s: %s\n", doing, Text(result.error()).c_str());
    abort();
  }
  return std::move(result).value();
}

std::string Hex64(char digit, int number) {
  std::string text = std::to_string(number);
  return std::string(64 - text.size(), digit) + text;
}

}  // namespace

std::string Text(const Error& error) {
  return std::string(Info(error.code).name) + " on " + error.subject + ": " + error.why +
         " (errno " + std::to_string(error.system_error) + ")";
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = std::string(kParent) + "bailiff-store-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) abort();
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  const ipc::Fd parent = Must(ipc::OpenAt(AT_FDCWD, kParent, O_PATH | O_DIRECTORY), kParent);
  static_cast<void>(RemoveTree(parent.get(), path_.substr(strlen(kParent)).c_str()));
}

Data::Data(const std::string& parent) : path(parent + "/data"), database(path + "/state.sqlite") {
  fd = Must(CreateDataDirectory(path, {geteuid(), getegid()}), "create");
  repository = Must(InitDataDirectory(fd.get(), database, kOperator), "init").repository;
}

Store Data::Open(int busy_ms) const {
  return Must(Store::Open({.path = database,
                           .operator_json = kOperator,
                           .repository = repository,
                           .busy_ms = busy_ms}),
              "open");
}

RevisionRow SampleRevision(int number) {
  return {.revision = Hex64('a', number),
          .tree = Hex64('b', number),
          .origin_json = R"({"kind":"directory"})",
          .entries = 3,
          .bytes = 1234};
}

ImageRow SampleImage(int number) {
  const std::string config = "{\"n\":" + std::to_string(number) + "}";
  return {.image = "sha256:" + policy::Hash(config).hex(),
          .tree = Hex64('c', number),
          .config = config,
          .diff_ids = "[]",
          .entries = 7,
          .bytes = 4321,
          .source_sha256 = Hex64('d', number),
          .names = {}};
}

RunChangeInput SampleRun(int recipe_number) {
  const std::string recipe =
      "{\"version\":1,\"image\":\"" + SampleImage(recipe_number).image + "\"}";
  RunChangeInput input{.revision = SampleRevision().revision,
                       .kind = "command/v1",
                       .recipe_digest = policy::Hash(recipe).hex(),
                       .recipe = recipe,
                       .toolchain = Hex64('e', 1),
                       .environment_digest = Hex64('f', 1),
                       .bind = {},
                       .claim = {}};
  input.bind = [](const RunNames& names) -> Result<RunBinding> {
    const std::string bound = "{\"change\":\"" + names.id + "\",\"repository\":\"" +
                              names.repository + "\",\"revision\":\"" + names.revision + "\"}";
    const std::string digest = policy::HashDomain("agentscm.review-context/v1", bound).hex();
    return RunBinding{.context_digest = digest,
                      .bound_json = bound,
                      .request_json = "{\"attempt_id\":\"" + names.id + "\"}"};
  };
  return input;
}

NewAttempt SampleAttempt(Store& store, const AttemptRow& run, const std::string& id) {
  return {.id = id,
          .kind = run.kind,
          .repository = Must(store.GetAuthority(), "authority").repository,
          .change = run.change,
          .change_version = run.change_version,
          .context_digest = run.context_digest,
          .revision = run.revision,
          .recipe_digest = run.recipe_digest,
          .recipe = run.recipe,
          .toolchain = run.toolchain,
          .environment_digest = run.environment_digest,
          .request_json = "{\"attempt_id\":\"" + id + "\"}"};
}

std::string Owner(int number) { return "{\"pid\":" + std::to_string(number) + "}"; }

AttemptRow PendingRun(Store& store, int recipe_number) {
  const Result<void> inserted = store.InsertRevision(SampleRevision());
  if (!inserted.ok()) {
    fprintf(stderr, "%s\n", Text(inserted.error()).c_str());
    abort();
  }
  return Must(store.CreateRunChange(SampleRun(recipe_number)), "run change");
}

AttemptRow RunningRun(Store& store, int recipe_number) {
  return Must(store.Claim(SampleClaim(PendingRun(store, recipe_number))), "claim");
}

ClaimInput SampleClaim(const AttemptRow& row, int owner) {
  return {.id = row.id,
          .generation = row.generation,
          .backend = "native",
          .owner_json = Owner(owner),
          .custody_json = {}};
}

FinishInput SampleFinish(const AttemptRow& row, const std::string& evidence) {
  return {.id = row.id,
          .generation = row.generation,
          .outcome = "success",
          .evidence = evidence,
          .outputs = {"hello\n", ""},
          .reason = {}};
}

std::string ForeignSql(const std::string& database, const std::string& sql) {
  // Like a program of the owner's: foreign keys and triggers as the library has them.
  Result<Database> opened = Database::Open({.path = database});
  if (!opened.ok()) return "error: " + Text(opened.error());
  Result<Statement> statement = opened->Prepare(sql);
  if (!statement.ok()) return "error: " + statement.error().why;
  const Result<bool> row = statement->Step();
  if (!row.ok()) return "error: " + row.error().why;
  return *row ? statement->Bytes(0) : "";
}

std::string Dump(const std::string& database) {
  std::string text;
  for (const char* table : {"authority", "revisions", "images", "image_names", "changes",
                            "contexts", "evidence", "outputs"}) {
    text += std::string(table) + " " +
            ForeignSql(database, std::string("SELECT count(*) FROM ") + table) + "\n";
  }
  text += ForeignSql(database,
                     "SELECT group_concat(id || ' ' || state || ' ' || generation || ' ' || "
                     "ifnull(outcome, '-') || ' ' || ifnull(hex(custody_json), '-'), '; ') FROM "
                     "(SELECT * FROM attempts ORDER BY seq)");
  return text;
}

pid_t StartChild(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  if (pid < 0) abort();
  return pid;
}

int WaitChild(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) abort();
  }
  return status;
}

int InChild(const std::function<int()>& body) { return WaitChild(StartChild(body)); }

}  // namespace bailiff::controller::test
