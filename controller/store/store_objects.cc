// SPDX-License-Identifier: Apache-2.0
// Revisions and images: what a digest stands for, once and for ever.
#include "controller/store/database.h"
#include "controller/store/statements.h"
#include "controller/store/store.h"
#include "policy/digest.h"

namespace bailiff::controller {

using statements::MakeError;

namespace {

constexpr std::string_view kImagePrefix = "sha256:";

Result<RevisionRow> RevisionById(Database& database, std::string_view id) {
  BAILIFF_TRY_ASSIGN(
      Statement statement,
      database.Prepare(
          "SELECT tree, origin_json, entries, bytes FROM revisions WHERE revision = ?1", {id}));
  BAILIFF_TRY_ASSIGN(const bool row, statement.Step());
  if (!row) return MakeError(ErrorCode::kRevisionUnknown, id, "no revision has this id");
  return RevisionRow{.revision = std::string(id),
                     .tree = statement.Bytes(0),
                     .origin_json = statement.Bytes(1),
                     .entries = statement.Integer(2),
                     .bytes = statement.Integer(3)};
}

Result<ImageRow> ImageById(Database& database, std::string_view id) {
  BAILIFF_TRY_ASSIGN(Statement statement,
                     database.Prepare("SELECT tree, config, diff_ids, entries, bytes, "
                                      "source_sha256 FROM images WHERE image = ?1",
                                      {id}));
  BAILIFF_TRY_ASSIGN(const bool row, statement.Step());
  if (!row) return MakeError(ErrorCode::kImageUnknown, id, "no image has this id");
  ImageRow image{.image = std::string(id),
                 .tree = statement.Bytes(0),
                 .config = statement.Bytes(1),
                 .diff_ids = statement.Bytes(2),
                 .entries = statement.Integer(3),
                 .bytes = statement.Integer(4),
                 .source_sha256 = statement.Bytes(5),
                 .names = {}};
  BAILIFF_TRY_ASSIGN(
      Statement names,
      database.Prepare("SELECT name FROM image_names WHERE image = ?1 ORDER BY name", {id}));
  for (;;) {
    BAILIFF_TRY_ASSIGN(const bool more, names.Step());
    if (!more) return image;
    image.names.push_back(names.Bytes(0));
  }
}

// A local name must not be readable as (the beginning of) an id.
Result<void> CheckName(std::string_view name) {
  if (statements::IsId(name) && !(statements::IsHex(name) && name.size() >= 12)) return {};
  return MakeError(ErrorCode::kStoreValue, name,
                   "a local name is a letter or digit, then up to 63 of letters, digits, '.', '_', "
                   "'-', and does not look like an id");
}

Result<void> PointName(Database& database, std::string_view image, std::string_view name) {
  BAILIFF_TRY(CheckName(name));
  BAILIFF_TRY(
      database.Run("INSERT INTO image_names (name, image) VALUES (?1, ?2) "
                   "ON CONFLICT (name) DO UPDATE SET image = excluded.image",
                   {name, image}));
  return {};
}

Result<ImageRow> ResolveImage(Database& database, std::string_view text) {
  const bool has_prefix = text.starts_with(kImagePrefix);
  if (!has_prefix && text.find_first_of(":/@") != std::string_view::npos)
    return MakeError(ErrorCode::kImageTag, text,
                     "a tag, and tags move; images are named by id or local name");
  if (!has_prefix) {
    BAILIFF_TRY_ASSIGN(Statement named,
                       database.Prepare("SELECT image FROM image_names WHERE name = ?1", {text}));
    BAILIFF_TRY_ASSIGN(const bool row, named.Step());
    if (row) return ImageById(database, named.Bytes(0));
  }
  BAILIFF_TRY_ASSIGN(
      const std::string id,
      statements::Complete(database,
                           "SELECT image FROM images WHERE ?1 <= image AND image < ?2 LIMIT 2",
                           text, kImagePrefix, ErrorCode::kImageUnknown));
  return ImageById(database, id);
}

}  // namespace

Result<void> Store::InsertRevision(const RevisionRow& row) {
  return Write([&](Database& database) -> Result<void> {
    const Result<RevisionRow> present = RevisionById(database, row.revision);
    if (present.ok()) {
      if (present->tree == row.tree && present->origin_json == row.origin_json &&
          present->entries == row.entries && present->bytes == row.bytes)
        return {};
      return MakeError(ErrorCode::kRowDiffers, row.revision, "the stored revision is another one");
    }
    if (present.error().code != ErrorCode::kRevisionUnknown) return present.error();
    BAILIFF_TRY(
        database.Run("INSERT INTO revisions (revision, tree, origin_json, entries, bytes) "
                     "VALUES (?1, ?2, ?3, ?4, ?5)",
                     {row.revision, row.tree, Blob{row.origin_json}, row.entries, row.bytes}));
    return Audit(database, "revision.insert", row.revision, "{}",
                 "{\"tree\":" + statements::JsonString(row.tree) + "}");
  });
}

Result<RevisionRow> Store::FindRevision(std::string_view text) {
  RevisionRow found;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(
        const std::string id,
        statements::Complete(
            database,
            "SELECT revision FROM revisions WHERE ?1 <= revision AND revision < ?2 LIMIT 2", text,
            "", ErrorCode::kRevisionUnknown));
    BAILIFF_TRY_ASSIGN(found, RevisionById(database, id));
    return {};
  }));
  return found;
}

Result<std::vector<RevisionRow>> Store::ListRevisions(std::int64_t limit) {
  std::vector<RevisionRow> rows;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    rows.clear();
    BAILIFF_TRY_ASSIGN(
        Statement statement,
        database.Prepare("SELECT revision, tree, origin_json, entries, bytes FROM revisions "
                         "ORDER BY rowid DESC LIMIT ?1",
                         {limit}));
    for (;;) {
      BAILIFF_TRY_ASSIGN(const bool row, statement.Step());
      if (!row) return {};
      rows.push_back({statement.Bytes(0), statement.Bytes(1), statement.Bytes(2),
                      statement.Integer(3), statement.Integer(4)});
    }
  }));
  return rows;
}

Result<void> Store::RemoveRevision(std::string_view revision) {
  return Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY(RevisionById(database, revision));
    BAILIFF_TRY_ASSIGN(
        Statement user,
        database.Prepare("SELECT 'change ' || id FROM changes WHERE revision = ?1 "
                         "UNION ALL SELECT 'change ' || change FROM contexts WHERE revision = ?1 "
                         "UNION ALL SELECT 'target ' || name FROM targets WHERE revision = ?1 "
                         "UNION ALL SELECT 'change ' || change FROM integrations "
                         "WHERE from_revision = ?1 OR to_revision = ?1 LIMIT 1",
                         {revision}));
    BAILIFF_TRY_ASSIGN(const bool used, user.Step());
    if (used) return MakeError(ErrorCode::kRowInUse, revision, user.Bytes(0) + " is bound to it");
    BAILIFF_TRY(database.Run("DELETE FROM revisions WHERE revision = ?1", {revision}));
    return Audit(database, "revision.remove", revision, "{}", "{}");
  });
}

Result<void> Store::InsertImage(const ImageRow& row, std::string_view name) {
  if (std::string(kImagePrefix) + policy::Hash(row.config).hex() != row.image)
    return MakeError(ErrorCode::kStoreValue, row.image, "its config has another digest");
  return Write([&](Database& database) -> Result<void> {
    const Result<ImageRow> present = ImageById(database, row.image);
    if (present.ok()) {
      // The archive it came from may be another one; what it is may not.
      if (present->tree != row.tree || present->diff_ids != row.diff_ids)
        return MakeError(ErrorCode::kRowDiffers, row.image, "the stored image has other content");
    } else if (present.error().code != ErrorCode::kImageUnknown) {
      return present.error();
    } else {
      BAILIFF_TRY(database.Run(
          "INSERT INTO images (image, tree, config, diff_ids, entries, bytes, source_sha256) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
          {row.image, row.tree, Blob{row.config}, Blob{row.diff_ids}, row.entries, row.bytes,
           row.source_sha256}));
    }
    if (!name.empty()) BAILIFF_TRY(PointName(database, row.image, name));
    return Audit(database, "image.insert", row.image, "{}",
                 "{\"name\":" + statements::JsonString(name) +
                     ",\"tree\":" + statements::JsonString(row.tree) + "}");
  });
}

Result<ImageRow> Store::FindImage(std::string_view text) {
  ImageRow found;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(found, ResolveImage(database, text));
    return {};
  }));
  return found;
}

Result<std::vector<ImageRow>> Store::ListImages(std::int64_t limit) {
  std::vector<ImageRow> rows;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    rows.clear();
    BAILIFF_TRY_ASSIGN(
        Statement statement,
        database.Prepare("SELECT image FROM images ORDER BY rowid DESC LIMIT ?1", {limit}));
    for (;;) {
      BAILIFF_TRY_ASSIGN(const bool row, statement.Step());
      if (!row) return {};
      BAILIFF_TRY_ASSIGN(ImageRow image, ImageById(database, statement.Bytes(0)));
      rows.push_back(std::move(image));
    }
  }));
  return rows;
}

Result<void> Store::RemoveImage(std::string_view image) {
  return Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY(ImageById(database, image));
    // An id is 64 hex digits after its prefix, so it cannot occur in a recipe by chance.
    BAILIFF_TRY_ASSIGN(
        Statement user,
        database.Prepare("SELECT id FROM attempts WHERE state IN ('pending', 'running') "
                         "AND instr(recipe, ?1) > 0 LIMIT 1",
                         {Blob{image}}));
    BAILIFF_TRY_ASSIGN(const bool used, user.Step());
    if (used)
      return MakeError(ErrorCode::kRowInUse, image, "attempt " + user.Bytes(0) + " asks for it");
    BAILIFF_TRY(database.Run("DELETE FROM images WHERE image = ?1", {image}));
    return Audit(database, "image.remove", image, "{}", "{}");
  });
}

Result<void> Store::NameImage(std::string_view image, std::string_view name) {
  return Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY(ImageById(database, image));
    BAILIFF_TRY(PointName(database, image, name));
    return Audit(database, "image.name", image, "{}",
                 "{\"name\":" + statements::JsonString(name) + "}");
  });
}

}  // namespace bailiff::controller
