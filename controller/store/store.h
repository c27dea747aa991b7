// SPDX-License-Identifier: Apache-2.0
// The authority: the one place where what happened is recorded (design, sections 3 and 6).
//
// Every change is one transaction begun IMMEDIATE, retried whole and for a bounded time while
// another process writes; every change of an attempt is a compare-and-swap on (id, state,
// generation) that changes exactly one row, or an error naming what the row is now; every change
// leaves an audit row. When a call returns, its effect is durable (synchronous FULL).
//
//   pending(g) --Claim--> running(g+1) --Finish--> finished(g+2)   pending(g) --Cancel-->
//   cancelled(g+1) running(g) --Fence--> running(g+1) --Finish--> finished(g+2)
//
// Errors common to all: kStoreBusy, kStoreFull, kStoreIo, kStoreCorrupt, kStoreInternal. After
// kStoreIo it is not known whether the change is durable: the connection was closed, and the next
// call reopens it and reads what the disk says. Ask again (GetAttempt, or the same call: Claim,
// Fence and Finish accept what they themselves did before) and decide on that answer only.
//
// Single-threaded. Descriptors are close-on-exec. Nothing else in the process may open the database
// files: closing them would drop SQLite's locks (e09).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows.h"
#include "ipc/result.h"

namespace bailiff::controller {

class Database;

struct StoreOptions {
  std::string path;           // "/data/state.sqlite"
  std::string operator_json;  // who acts: real uid, login uid, name; recorded, not authenticated
  std::string repository;     // expected (file `authority`); empty: not compared
  int busy_ms = 20000;        // bound of waiting for other writers
};

class Store {
 public:
  // Opens an existing database; migrates an older schema when no attempt is running (R9.07).
  // Errors: kStoreOpen, kStoreSchemaNewer, kStoreSchemaBusy, kStoreForeign.
  static Result<Store> Open(StoreOptions options);
  // Makes the database where there is none, with schema and authority row, and opens it. A database
  // that exists is opened (repository then ignores `repository`).
  static Result<Store> Create(StoreOptions options, std::string_view repository);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  Result<Authority> GetAuthority();
  Result<StoreCounts> Counts();
  // PRAGMA quick_check or integrity_check; ok or kStoreCorrupt with the first finding.
  Result<void> CheckIntegrity(bool full);

  // Writes the database as it is at one moment into a new file at `path` (below the data
  // directory), whole and checked, in WAL mode like itself; writers go on. Nothing is left of a
  // copy that fails but the file.
  Result<void> CopyTo(const std::string& path);
  // Records that a backup is whole and is about to get its name. `archive_json`: what it is known
  // by.
  Result<void> AuditBackup(std::string_view archive_json);

  // --- sources and images. Inserting the same row again is no error; another one under an id that
  // exists is kRowDiffers: an id, once trusted, never changes what it means.
  Result<void> InsertRevision(const RevisionRow& row);
  // `text`: in full, or a unique prefix of at least 12 hex. kPrefixShort, kPrefixAmbiguous,
  // kRevisionUnknown.
  Result<RevisionRow> FindRevision(std::string_view text);
  Result<std::vector<RevisionRow>> ListRevisions(std::int64_t limit = 1000);
  Result<void> RemoveRevision(std::string_view revision);  // kRowInUse

  Result<void> InsertImage(const ImageRow& row, std::string_view name);  // name may be empty
  // `text`: "sha256:<64 hex>", 64 hex, unique prefix of ≥ 12 hex, or a local name. kImageTag for
  // what looks like a tag, kImageUnknown.
  Result<ImageRow> FindImage(std::string_view text);
  Result<std::vector<ImageRow>> ListImages(std::int64_t limit = 1000);
  // Refused (kRowInUse) while a pending or running attempt asks for it. Its names go with it.
  Result<void> RemoveImage(std::string_view image);
  // Points a local name at an image, away from the one it named before.
  Result<void> NameImage(std::string_view image, std::string_view name);

  // --- what may be removed
  // Everything the rows refer to, in one read.
  Result<References> GetReferences();
  // Records, before it is done, that what no row refers to is removed. `removed_json`: how much.
  Result<void> AuditRemoval(std::string_view removed_json);

  // --- changes
  Result<ChangeRow> GetChange(std::string_view id);
  Result<ContextRow> GetContext(std::string_view context_digest);  // digest checked
  // Change, context and attempt of a `bailiff run`, in one transaction.
  Result<AttemptRow> CreateRunChange(const RunChangeInput& input);

  // --- attempts
  // Idempotent (R9.09, R13.25): the same id and request give the stored row; another request
  // kAttemptDiffers naming the first differing member. A new one must name the present version,
  // context and revision of its change: kContextStale. Whether the context asks for the recipe is a
  // fact of the immutable context: check it before, on GetContext.
  Result<AttemptRow> RegisterAttempt(const NewAttempt& attempt);
  Result<AttemptRow> GetAttempt(std::string_view id);  // kAttemptUnknown
  Result<AttemptPage> ListAttempts(const AttemptFilter& filter);

  // Lock the owner's byte first (OwnersLock). Re-reads change, context and policy epoch (R9.12).
  // Errors of the five below: kAttemptUnknown; kAttemptConflict naming state and generation;
  // kAttemptFinished when it has ended; Claim also kContextStale.
  Result<AttemptRow> Claim(const ClaimInput& input);
  Result<void> PersistCustody(std::string_view id, std::int64_t generation,
                              std::string_view custody_json);
  Result<AttemptRow> Cancel(std::string_view id, std::int64_t generation, std::string_view reason);
  Result<AttemptRow> Fence(std::string_view id, std::int64_t generation,
                           std::string_view owner_json, std::string_view reason);
  // Database::WriteBack, for a time when nobody waits.
  void WriteBack();
  // Evidence, outputs and the final state in one commit. The only insert of evidence is here.
  Result<AttemptRow> Finish(const FinishInput& input);

  // --- evidence. `text`: id in full or a unique prefix of ≥ 12 hex.
  Result<EvidenceRow> GetEvidence(std::string_view text);  // kEvidenceUnknown, kEvidenceCorrupt
  Result<std::string> GetOutput(std::string_view sha256);  // kOutputUnknown, kEvidenceCorrupt

 private:
  explicit Store(StoreOptions options);
  // The open connection; opens it again after an input-output error.
  Result<Database*> Connection();
  Result<void> Read(const std::function<Result<void>(Database&)>& body);
  Result<void> Write(const std::function<Result<void>(Database&)>& body);
  Result<void> Settle(Result<void> result);
  Result<void> Audit(Database& database, std::string_view action, std::string_view subject,
                     std::string_view before_json, std::string_view after_json);
  Result<AttemptRow> InsertAttempt(Database& database, const NewAttempt& attempt,
                                   const ContextRow& context);
  Result<AttemptRow> ClaimIn(Database& database, const ClaimInput& input);

  StoreOptions options_;
  std::unique_ptr<Database> database_;
  bool suspect_ = false;  // the last connection ended with an input-output error
};

}  // namespace bailiff::controller
