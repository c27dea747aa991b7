// SPDX-License-Identifier: Apache-2.0
// The text of the schema. Columns: contracts, section 4. Triggers repeat the store's rules inside
// the database, so that a mistake in our own code is an error and not a rewritten history; they do
// not stop somebody who owns the file (R1.08, R13.28).
#pragma once

namespace bailiff::controller {

inline constexpr const char* kSchemaSql = R"sql(
CREATE TABLE authority (
  repository TEXT PRIMARY KEY CHECK (length(repository) = 32 AND repository NOT GLOB '*[^0-9a-f]*'),
  policy_epoch INTEGER NOT NULL DEFAULT 0 CHECK (policy_epoch >= 0),
  created_unix_ms INTEGER NOT NULL,
  one INTEGER NOT NULL DEFAULT 1 UNIQUE CHECK (one = 1)
) STRICT;

CREATE TABLE revisions (
  revision TEXT PRIMARY KEY CHECK (length(revision) = 64 AND revision NOT GLOB '*[^0-9a-f]*'),
  tree TEXT NOT NULL CHECK (length(tree) = 64 AND tree NOT GLOB '*[^0-9a-f]*'),
  origin_json BLOB NOT NULL,
  entries INTEGER NOT NULL CHECK (entries >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT;

CREATE TABLE images (
  image TEXT PRIMARY KEY CHECK (length(image) = 71 AND image GLOB 'sha256:*'
                                AND substr(image, 8) NOT GLOB '*[^0-9a-f]*'),
  tree TEXT NOT NULL CHECK (length(tree) = 64 AND tree NOT GLOB '*[^0-9a-f]*'),
  config BLOB NOT NULL,
  diff_ids BLOB NOT NULL,
  entries INTEGER NOT NULL CHECK (entries >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  source_sha256 TEXT NOT NULL
) STRICT;

CREATE TABLE image_names (
  name TEXT PRIMARY KEY,
  image TEXT NOT NULL REFERENCES images(image) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX image_names_image ON image_names(image);

CREATE TABLE targets (
  name TEXT PRIMARY KEY,
  revision TEXT NOT NULL REFERENCES revisions(revision),
  version INTEGER NOT NULL CHECK (version >= 1)
) STRICT;

CREATE TABLE changes (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL CHECK (version >= 1),
  target TEXT REFERENCES targets(name),
  revision TEXT NOT NULL REFERENCES revisions(revision),
  context_digest TEXT NOT NULL REFERENCES contexts(context_digest) DEFERRABLE INITIALLY DEFERRED,
  context_generation INTEGER NOT NULL CHECK (context_generation >= 1),
  state TEXT NOT NULL CHECK (state IN ('open', 'approved', 'integrated', 'closed'))
) STRICT;

CREATE TABLE contexts (
  context_digest TEXT PRIMARY KEY CHECK (length(context_digest) = 64),
  change TEXT NOT NULL REFERENCES changes(id),
  generation INTEGER NOT NULL CHECK (generation >= 1),
  policy_epoch INTEGER NOT NULL CHECK (policy_epoch >= 0),
  revision TEXT NOT NULL REFERENCES revisions(revision),
  bound_json BLOB NOT NULL,
  UNIQUE (change, generation)
) STRICT;

CREATE TABLE attempts (
  seq INTEGER PRIMARY KEY CHECK (seq BETWEEN 1 AND 1099511627775),
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('command/v1', 'source_paths/v1')),
  state TEXT NOT NULL CHECK (state IN ('pending', 'running', 'finished', 'cancelled')),
  generation INTEGER NOT NULL CHECK (generation >= 0),
  change TEXT NOT NULL REFERENCES changes(id),
  change_version INTEGER NOT NULL CHECK (change_version >= 1),
  context_digest TEXT NOT NULL REFERENCES contexts(context_digest),
  revision TEXT NOT NULL REFERENCES revisions(revision),
  recipe_digest TEXT NOT NULL CHECK (length(recipe_digest) = 64),
  recipe BLOB NOT NULL,
  toolchain TEXT NOT NULL,
  environment_digest TEXT NOT NULL,
  policy_epoch INTEGER NOT NULL CHECK (policy_epoch >= 0),
  backend TEXT,
  request_json BLOB NOT NULL,
  custody_json BLOB,
  outcome TEXT,
  evidence_id TEXT REFERENCES evidence(evidence_id),
  owner_json BLOB,
  created_unix_ms INTEGER NOT NULL,
  changed_unix_ms INTEGER NOT NULL,
  CHECK ((state = 'finished') = (outcome IS NOT NULL)),
  CHECK ((state = 'finished') = (evidence_id IS NOT NULL)),
  CHECK (state NOT IN ('running', 'finished') OR (owner_json IS NOT NULL AND backend IS NOT NULL))
) STRICT;
CREATE INDEX attempts_open ON attempts(state) WHERE state IN ('pending', 'running');
CREATE INDEX attempts_change ON attempts(change);

CREATE TABLE evidence (
  evidence_id TEXT PRIMARY KEY CHECK (length(evidence_id) = 64),
  attempt TEXT NOT NULL UNIQUE REFERENCES attempts(id),
  kind TEXT NOT NULL,
  bytes BLOB NOT NULL CHECK (length(bytes) <= 1048576)
) STRICT;

CREATE TABLE outputs (
  sha256 TEXT PRIMARY KEY CHECK (length(sha256) = 64),
  bytes BLOB CHECK (length(bytes) <= 1048576),
  deleted_unix_ms INTEGER,
  CHECK ((bytes IS NULL) = (deleted_unix_ms IS NOT NULL))
) STRICT;

CREATE TABLE policies (
  digest TEXT PRIMARY KEY,
  bytes BLOB NOT NULL,
  installed_epoch INTEGER NOT NULL,
  retired_epoch INTEGER
) STRICT;

CREATE TABLE decisions (
  seq INTEGER PRIMARY KEY,
  subject_json BLOB NOT NULL,
  policy_digest TEXT REFERENCES policies(digest),
  policy_epoch INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  reasons_json BLOB NOT NULL
) STRICT;

CREATE TABLE approvals (
  seq INTEGER PRIMARY KEY,
  change TEXT NOT NULL REFERENCES changes(id),
  change_version INTEGER NOT NULL,
  context_digest TEXT NOT NULL REFERENCES contexts(context_digest),
  operator_json BLOB NOT NULL,
  evidence_json BLOB NOT NULL,
  decision INTEGER NOT NULL REFERENCES decisions(seq),
  revoked INTEGER NOT NULL DEFAULT 0 CHECK (revoked IN (0, 1))
) STRICT;

CREATE TABLE integrations (
  seq INTEGER PRIMARY KEY,
  change TEXT NOT NULL REFERENCES changes(id),
  change_version INTEGER NOT NULL,
  context_digest TEXT NOT NULL REFERENCES contexts(context_digest),
  target TEXT NOT NULL REFERENCES targets(name),
  from_revision TEXT NOT NULL REFERENCES revisions(revision),
  to_revision TEXT NOT NULL REFERENCES revisions(revision),
  evidence_json BLOB NOT NULL,
  decision INTEGER NOT NULL REFERENCES decisions(seq)
) STRICT;

CREATE TABLE receipts (
  id TEXT PRIMARY KEY,
  runtime_identity TEXT NOT NULL,
  expires_unix_ms INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;

CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  unix_ms INTEGER NOT NULL,
  operator_json BLOB NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  before_json BLOB NOT NULL,
  after_json BLOB NOT NULL
) STRICT;

CREATE TRIGGER authority_repository BEFORE UPDATE OF repository ON authority
BEGIN SELECT RAISE(ABORT, 'the repository id never changes'); END;
CREATE TRIGGER authority_kept BEFORE DELETE ON authority
BEGIN SELECT RAISE(ABORT, 'the authority is never removed'); END;

CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;

CREATE TRIGGER evidence_no_update BEFORE UPDATE ON evidence
BEGIN SELECT RAISE(ABORT, 'evidence never changes'); END;
CREATE TRIGGER evidence_no_delete BEFORE DELETE ON evidence
BEGIN SELECT RAISE(ABORT, 'evidence never changes'); END;
CREATE TRIGGER evidence_of_running BEFORE INSERT ON evidence
WHEN NOT EXISTS (SELECT 1 FROM attempts WHERE id = NEW.attempt AND state = 'running' AND kind = NEW.kind)
BEGIN SELECT RAISE(ABORT, 'evidence is stored for a running attempt of its kind only'); END;

CREATE TRIGGER contexts_no_update BEFORE UPDATE ON contexts
BEGIN SELECT RAISE(ABORT, 'a context never changes'); END;
CREATE TRIGGER contexts_no_delete BEFORE DELETE ON contexts
BEGIN SELECT RAISE(ABORT, 'a context never changes'); END;
CREATE TRIGGER revisions_no_update BEFORE UPDATE ON revisions
BEGIN SELECT RAISE(ABORT, 'a revision never changes'); END;
CREATE TRIGGER images_no_update BEFORE UPDATE ON images
BEGIN SELECT RAISE(ABORT, 'an image never changes'); END;

CREATE TRIGGER attempts_no_delete BEFORE DELETE ON attempts
BEGIN SELECT RAISE(ABORT, 'an attempt is never removed'); END;
CREATE TRIGGER attempts_begin_pending BEFORE INSERT ON attempts
WHEN NEW.state <> 'pending' OR NEW.generation <> 0
BEGIN SELECT RAISE(ABORT, 'an attempt begins pending'); END;
CREATE TRIGGER attempts_bound BEFORE UPDATE ON attempts
WHEN NEW.seq <> OLD.seq OR NEW.id <> OLD.id OR NEW.kind <> OLD.kind OR NEW.change <> OLD.change
  OR NEW.change_version <> OLD.change_version OR NEW.context_digest <> OLD.context_digest
  OR NEW.revision <> OLD.revision OR NEW.recipe_digest <> OLD.recipe_digest OR NEW.recipe <> OLD.recipe
  OR NEW.toolchain <> OLD.toolchain OR NEW.environment_digest <> OLD.environment_digest
  OR NEW.policy_epoch <> OLD.policy_epoch OR NEW.request_json <> OLD.request_json
BEGIN SELECT RAISE(ABORT, 'what an attempt binds never changes'); END;
CREATE TRIGGER attempts_move BEFORE UPDATE ON attempts
WHEN NOT (
  (OLD.state = 'running' AND NEW.state = 'running' AND NEW.generation = OLD.generation)
  OR (NEW.generation = OLD.generation + 1
      AND ((OLD.state = 'pending' AND NEW.state IN ('running', 'cancelled'))
           OR (OLD.state = 'running' AND NEW.state IN ('running', 'finished')))))
BEGIN SELECT RAISE(ABORT, 'not a move an attempt can make'); END;

CREATE VIEW command_attempts AS
  SELECT id AS attempt_id, state, generation, change AS change_id, change_version, context_digest,
         revision, recipe_digest, recipe, toolchain, environment_digest, policy_epoch, request_json,
         custody_json, outcome, evidence_id
  FROM attempts WHERE kind = 'command/v1';
CREATE VIEW command_evidence AS
  SELECT evidence_id, attempt AS attempt_id, bytes AS record FROM evidence WHERE kind = 'command/v1';

PRAGMA user_version = 6;
)sql";

}  // namespace bailiff::controller
