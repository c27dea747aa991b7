// SPDX-License-Identifier: Apache-2.0
// The rows as a whole: what they refer to, for removing what they do not; a copy of them.
#include "controller/store/database.h"
#include "controller/store/statements.h"
#include "controller/store/store.h"

namespace bailiff::controller {
namespace {

Result<void> Collect(Database& database, std::string_view sql, std::vector<std::string>& into) {
  BAILIFF_TRY_ASSIGN(Statement statement, database.Prepare(sql));
  for (;;) {
    BAILIFF_TRY_ASSIGN(const bool row, statement.Step());
    if (!row) return {};
    into.push_back(statement.Bytes(0));
  }
}

}  // namespace

// Changes, contexts, targets, integrations and attempts name revisions by foreign keys, so every
// revision they use has a row here.
Result<References> Store::GetReferences() {
  References found;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    found = {};
    BAILIFF_TRY(
        Collect(database, "SELECT revision FROM revisions ORDER BY revision", found.revisions));
    BAILIFF_TRY(
        Collect(database, "SELECT DISTINCT tree FROM revisions ORDER BY tree", found.trees));
    BAILIFF_TRY(
        Collect(database, "SELECT substr(image, 8) FROM images ORDER BY image", found.images));
    BAILIFF_TRY(Collect(database,
                        "SELECT DISTINCT r.tree FROM attempts AS a JOIN revisions AS r ON "
                        "r.revision = a.revision WHERE a.state IN ('pending', 'running') "
                        "ORDER BY r.tree",
                        found.open_trees));
    return Collect(database, "SELECT id FROM attempts WHERE state = 'running' ORDER BY seq",
                   found.running);
  }));
  return found;
}

Result<void> Store::AuditRemoval(std::string_view removed_json) {
  return Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(const Authority authority, statements::AuthorityOf(database));
    return Audit(database, "gc.remove", authority.repository, removed_json, "{}");
  });
}

Result<void> Store::CopyTo(const std::string& path) {
  BAILIFF_TRY_ASSIGN(Database* const database, Connection());
  return Settle(database->CopyTo(path));
}

Result<void> Store::AuditBackup(std::string_view archive_json) {
  return Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(const Authority authority, statements::AuthorityOf(database));
    return Audit(database, "backup.create", authority.repository, "{}", archive_json);
  });
}

}  // namespace bailiff::controller
