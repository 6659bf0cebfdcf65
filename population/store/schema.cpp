#include "population/store/schema.h"

#include <fmt/format.h>

#include <array>

#include "engine/base/error.h"

namespace evo {
namespace {

/// "evo1" in PRAGMA application_id identifies evo's databases (sqlite.org/fileformat2.html, offset 68).
constexpr std::int64_t kApplicationId = 0x65766f31;

// What exists after each version; a change of the schema is a new entry, never an edit of a released one.
// NULL in a REAL column of a measurement stands for NaN.
constexpr std::array<const char*, 14> kMigrations = {R"sql(
CREATE TABLE text (
  id      INTEGER PRIMARY KEY,
  hash    TEXT NOT NULL UNIQUE,       -- XXH3-128 of content, hex
  content TEXT NOT NULL
) STRICT;

CREATE TABLE task (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (name, hash)
) STRICT;

CREATE TABLE task_file (
  task INTEGER NOT NULL REFERENCES task,
  path TEXT NOT NULL,
  text INTEGER NOT NULL REFERENCES text,
  PRIMARY KEY (task, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE device (
  id     INTEGER PRIMARY KEY,
  key    TEXT NOT NULL,               -- kind, name and arch: what boards are keyed by
  label  TEXT NOT NULL,               -- cuda:0, vgpu:h200
  kind   TEXT NOT NULL CHECK (kind IN ('cuda', 'vgpu')),
  name   TEXT NOT NULL,
  arch   TEXT NOT NULL,
  uuid   TEXT NOT NULL,
  driver TEXT NOT NULL,
  facts  TEXT NOT NULL,               -- JSON object
  UNIQUE (label, kind, name, arch, uuid, driver, facts)
) STRICT;

-- What candidates compete for: one ranking.
CREATE TABLE board (
  id         INTEGER PRIMARY KEY,
  task       INTEGER NOT NULL REFERENCES task,
  device_key TEXT NOT NULL,
  objective  TEXT NOT NULL,
  UNIQUE (task, device_key, objective)
) STRICT;

CREATE TABLE run (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  board            INTEGER NOT NULL REFERENCES board,
  device           INTEGER NOT NULL REFERENCES device,
  target           TEXT NOT NULL,     -- JSON: options, timed, validated
  family           TEXT NOT NULL,     -- searched alone; empty: every one that fits
  strategy         TEXT NOT NULL,
  seed             INTEGER NOT NULL,  -- seed and salt: the bits of an unsigned number
  salt             INTEGER NOT NULL,
  evaluation_limit INTEGER NOT NULL,
  time_limit_s     REAL NOT NULL,
  width            INTEGER NOT NULL,
  command          TEXT NOT NULL,
  evo_version      TEXT NOT NULL,
  nvrtc_version    TEXT NOT NULL,
  status           TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted', 'failed')),
  started_at       TEXT NOT NULL,
  finished_at      TEXT
) STRICT;

CREATE TABLE candidate (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  run         INTEGER NOT NULL REFERENCES run,
  ticket      INTEGER NOT NULL,
  op          TEXT NOT NULL,
  family      TEXT NOT NULL,
  genome      TEXT NOT NULL,          -- canonical JSON
  source_hash TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  UNIQUE (run, ticket),
  UNIQUE (run, genome)
) STRICT;

CREATE TABLE parent (
  candidate INTEGER NOT NULL REFERENCES candidate,
  position  INTEGER NOT NULL,
  parent    INTEGER NOT NULL REFERENCES candidate CHECK (parent < candidate),
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE program (
  candidate      INTEGER NOT NULL REFERENCES candidate,
  position       INTEGER NOT NULL,
  specialisation TEXT NOT NULL,       -- JSON object
  source         INTEGER NOT NULL REFERENCES text,
  source_hash    TEXT NOT NULL,
  max_registers  INTEGER NOT NULL,
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE build (
  candidate         INTEGER NOT NULL REFERENCES candidate,
  position          INTEGER NOT NULL,
  specialisation    TEXT NOT NULL,
  arch              TEXT NOT NULL,
  registers         INTEGER NOT NULL,
  spill_bytes       INTEGER NOT NULL,
  static_smem_bytes INTEGER NOT NULL,
  stack_bytes       INTEGER NOT NULL,
  cubin_hash        TEXT NOT NULL,
  log               TEXT NOT NULL,
  compile_ms        REAL,
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE evaluation (
  candidate         INTEGER PRIMARY KEY REFERENCES candidate,
  verdict           TEXT NOT NULL,
  reason            TEXT NOT NULL,
  latency_us        REAL,
  worst_relative_l2 REAL,
  profile           TEXT NOT NULL,
  salt              INTEGER NOT NULL
) STRICT;

CREATE TABLE case_error (
  candidate   INTEGER NOT NULL REFERENCES candidate,
  position    INTEGER NOT NULL,
  shape       TEXT NOT NULL,
  seed        INTEGER NOT NULL,
  regime      TEXT NOT NULL,
  output      TEXT NOT NULL,
  relative_l2 REAL,
  max_abs     REAL,
  cosine      REAL,
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE timing (
  candidate INTEGER NOT NULL REFERENCES candidate,
  position  INTEGER NOT NULL,
  shape     TEXT NOT NULL,
  modelled  INTEGER NOT NULL CHECK (modelled IN (0, 1)),
  cold      INTEGER NOT NULL CHECK (cold IN (0, 1)),
  median_us REAL,
  low_us    REAL,
  high_us   REAL,
  throttled INTEGER NOT NULL,
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE sample (
  candidate INTEGER NOT NULL,
  timing    INTEGER NOT NULL,
  position  INTEGER NOT NULL,
  us        REAL,
  PRIMARY KEY (candidate, timing, position),
  FOREIGN KEY (candidate, timing) REFERENCES timing
) STRICT, WITHOUT ROWID;

CREATE TABLE elite (
  candidate   INTEGER PRIMARY KEY REFERENCES candidate,
  board       INTEGER NOT NULL REFERENCES board,
  latency_us  REAL NOT NULL CHECK (latency_us > 0),
  source_hash TEXT NOT NULL,
  binary_hash TEXT,                   -- cubins and launch plans; NULL: unknown
  since       TEXT NOT NULL,
  UNIQUE (board, source_hash),
  UNIQUE (board, binary_hash)
) STRICT;

CREATE TABLE elite_history (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  board        INTEGER NOT NULL REFERENCES board,
  entered      INTEGER NOT NULL UNIQUE REFERENCES candidate,
  entered_us   REAL NOT NULL,
  displaced    INTEGER UNIQUE REFERENCES candidate,
  displaced_us REAL CHECK ((displaced IS NULL) = (displaced_us IS NULL)),
  at           TEXT NOT NULL,
  CHECK (displaced IS NULL OR entered_us < displaced_us)
) STRICT;

CREATE INDEX elite_history_board ON elite_history (board);

CREATE TRIGGER elite_at_most_three BEFORE INSERT ON elite
WHEN (SELECT count(*) FROM elite WHERE board = NEW.board) >= 3
BEGIN SELECT RAISE(ABORT, 'a board has three elites at most'); END;

CREATE TRIGGER elite_is_valid BEFORE INSERT ON elite
WHEN NOT EXISTS (SELECT 1 FROM evaluation JOIN candidate ON candidate.id = evaluation.candidate
                 JOIN run ON run.id = candidate.run
                 WHERE candidate.id = NEW.candidate AND run.board = NEW.board
                   AND verdict = 'valid' AND evaluation.latency_us = NEW.latency_us)
BEGIN SELECT RAISE(ABORT, 'an elite is a valid candidate of its own board'); END;

CREATE TRIGGER elite_is_replaced_not_changed BEFORE UPDATE ON elite
BEGIN SELECT RAISE(ABORT, 'elites are replaced, not changed'); END;

CREATE VIEW elites AS
SELECT row_number() OVER (PARTITION BY elite.board ORDER BY elite.latency_us, elite.candidate) AS rank,
       task.name AS task, device.name AS device, device.arch, device.kind, board.objective,
       elite.candidate, elite.latency_us, evaluation.worst_relative_l2 AS relative_error,
       (SELECT max(registers) FROM build WHERE build.candidate = elite.candidate) AS registers,
       candidate.family, candidate.genome, candidate.run, elite.since, task.hash AS task_hash,
       board.id AS board
FROM elite
JOIN board ON board.id = elite.board
JOIN task ON task.id = board.task
JOIN candidate ON candidate.id = elite.candidate
JOIN evaluation ON evaluation.candidate = elite.candidate
JOIN run ON run.id = candidate.run
JOIN device ON device.id = run.device
ORDER BY task.name, board.id, rank;

CREATE VIEW leaderboard AS
SELECT elites.task, elites.device, elites.arch, elites.kind, elites.objective,
       elites.candidate AS best, elites.latency_us, elites.relative_error, elites.family, elites.genome,
       (SELECT count(*) FROM run WHERE run.board = elites.board) AS runs,
       (SELECT count(*) FROM run JOIN candidate ON candidate.run = run.id
        WHERE run.board = elites.board) AS evaluated,
       (SELECT count(*) FROM run JOIN candidate ON candidate.run = run.id
        JOIN evaluation ON evaluation.candidate = candidate.id
        WHERE run.board = elites.board AND verdict = 'valid') AS valid,
       elites.since, elites.task_hash
FROM elites WHERE rank = 1;

-- The ancestors of every elite, the elite itself at distance 0.
CREATE VIEW lineage AS
WITH RECURSIVE ancestor(elite, candidate, distance) AS (
  SELECT candidate, candidate, 0 FROM elite
  UNION
  SELECT ancestor.elite, parent.parent, ancestor.distance + 1
  FROM ancestor JOIN parent ON parent.candidate = ancestor.candidate
), nearest AS (
  SELECT elite, candidate, min(distance) AS distance FROM ancestor GROUP BY elite, candidate
)
SELECT nearest.elite, nearest.distance, candidate.id AS candidate, candidate.op, evaluation.verdict,
       evaluation.latency_us, candidate.family, candidate.genome
FROM nearest
JOIN candidate ON candidate.id = nearest.candidate
JOIN evaluation ON evaluation.candidate = candidate.id
ORDER BY nearest.elite, nearest.distance, candidate.id;
)sql",
                                                     R"sql(
-- What a run was seeded with, in the order proposed: a JSON array of {genome, origin}.
ALTER TABLE run ADD COLUMN seeds TEXT NOT NULL DEFAULT '[]';
)sql",
                                                     R"sql(
ALTER TABLE build ADD COLUMN flags TEXT NOT NULL DEFAULT '';  -- of the compiler; empty: unknown

-- What the GPU was found doing meanwhile; 0: nobody could tell.
ALTER TABLE timing ADD COLUMN sm_mhz_low INTEGER NOT NULL DEFAULT 0;
ALTER TABLE timing ADD COLUMN sm_mhz_high INTEGER NOT NULL DEFAULT 0;
ALTER TABLE timing ADD COLUMN memory_mhz INTEGER NOT NULL DEFAULT 0;
ALTER TABLE timing ADD COLUMN other_processes INTEGER NOT NULL DEFAULT 0;

-- Whether the planted mutants of a task were rejected and its honest kernels accepted.
CREATE TABLE selftest (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  task          INTEGER NOT NULL REFERENCES task,
  device        INTEGER NOT NULL REFERENCES device,
  passed        INTEGER NOT NULL CHECK (passed IN (0, 1)),
  judged        INTEGER NOT NULL,
  wrong         INTEGER NOT NULL,
  salt          INTEGER NOT NULL,
  evo_version   TEXT NOT NULL,
  nvrtc_version TEXT NOT NULL,
  at            TEXT NOT NULL
) STRICT;
)sql",
                                                     R"sql(
-- Templates that a candidate has beside its task's: alleles and kernels that a proposer brought.
CREATE TABLE candidate_file (
  candidate INTEGER NOT NULL REFERENCES candidate,
  path      TEXT NOT NULL,
  text      INTEGER NOT NULL REFERENCES text,
  PRIMARY KEY (candidate, path)
) STRICT, WITHOUT ROWID;
)sql",
                                                     R"sql(
-- Proposals for each that was evaluated: the one of so many that was modelled to be the fastest.
ALTER TABLE run ADD COLUMN screen INTEGER NOT NULL DEFAULT 1;
)sql",
                                                     R"sql(
-- Whether the GPU's power limit lowered its clocks meanwhile.
ALTER TABLE timing ADD COLUMN power_limited INTEGER NOT NULL DEFAULT 0 CHECK (power_limited IN (0, 1));
)sql",
                                                     R"sql(
-- A device may be of any kind. Only a constraint goes, nothing stored changes: sqlite.org/lang_altertable.html.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, ' CHECK (kind IN (''cuda'', ''vgpu''))', '') WHERE name = 'device';
PRAGMA writable_schema = RESET;
)sql",
                                                     R"sql(
-- Why a proposer proposed the candidate, in its own words.
ALTER TABLE candidate ADD COLUMN note TEXT NOT NULL DEFAULT '';

-- Where the evaluation spent its time, in seconds; 0: unknown, or it came no further.
ALTER TABLE evaluation ADD COLUMN waiting_s REAL NOT NULL DEFAULT 0;
ALTER TABLE evaluation ADD COLUMN validation_s REAL NOT NULL DEFAULT 0;
ALTER TABLE evaluation ADD COLUMN timing_s REAL NOT NULL DEFAULT 0;
)sql",
                                                     R"sql(
-- Counters of a candidate's launches: a GPU's, or those that a cost model knows.
CREATE TABLE counter (
  candidate INTEGER NOT NULL REFERENCES candidate,
  shape     TEXT NOT NULL,
  modelled  INTEGER NOT NULL CHECK (modelled IN (0, 1)),
  launch    INTEGER NOT NULL,         -- of one call, from 0
  kernel    TEXT NOT NULL,
  metric    TEXT NOT NULL,            -- as ncu names it
  value     REAL NOT NULL,
  PRIMARY KEY (candidate, shape, modelled, launch, metric)
) STRICT, WITHOUT ROWID;
)sql",
                                                     R"sql(
-- Where the evaluation ran; empty: nowhere, or nobody knows.
ALTER TABLE evaluation ADD COLUMN device TEXT NOT NULL DEFAULT '';  -- cuda:1, by its number on that host
ALTER TABLE evaluation ADD COLUMN uuid TEXT NOT NULL DEFAULT '';
ALTER TABLE evaluation ADD COLUMN host TEXT NOT NULL DEFAULT '';

-- The highest while it was timed; 0: unknown.
ALTER TABLE timing ADD COLUMN temperature_c INTEGER NOT NULL DEFAULT 0;

-- In which order answers were given to the strategy: as asked, or as evaluations finished.
ALTER TABLE run ADD COLUMN answers TEXT NOT NULL DEFAULT 'asked' CHECK (answers IN ('asked', 'finished'));

-- The devices of a run beyond its first.
CREATE TABLE run_device (
  run      INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,          -- from 1
  device   INTEGER NOT NULL REFERENCES device,
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
)sql",
                                                     R"sql(
-- Questions to a language model, with its answers.
CREATE TABLE exchange (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  run           INTEGER NOT NULL REFERENCES run,
  at            TEXT NOT NULL,
  model         TEXT NOT NULL,
  prompt        INTEGER NOT NULL REFERENCES text,
  answer        INTEGER NOT NULL REFERENCES text,
  prompt_tokens INTEGER NOT NULL,
  answer_tokens INTEGER NOT NULL,
  cost          REAL NOT NULL,          -- in the currency of the prices that the user gave
  seconds       REAL NOT NULL,
  failure       TEXT NOT NULL           -- why it brought no proposals; empty: it did
) STRICT;

-- The exchange that a candidate comes from.
CREATE TABLE exchange_candidate (
  candidate INTEGER PRIMARY KEY REFERENCES candidate,
  exchange  INTEGER NOT NULL REFERENCES exchange
) STRICT;

-- What people noted of a candidate.
CREATE TABLE note (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  candidate INTEGER NOT NULL REFERENCES candidate,
  at        TEXT NOT NULL,
  content   TEXT NOT NULL
) STRICT;

CREATE INDEX exchange_run ON exchange (run);
CREATE INDEX note_candidate ON note (candidate);
)sql",
                                                     R"sql(
-- A candidate and rivals, programs of others, timed in turns on one device.
CREATE TABLE sitting (
  id          INTEGER PRIMARY KEY,
  candidate   INTEGER NOT NULL REFERENCES candidate,
  device      INTEGER NOT NULL REFERENCES device,
  at          TEXT NOT NULL,
  salt        INTEGER NOT NULL,       -- mixed into the seeds of the inputs
  evo_version TEXT NOT NULL,
  median_us   REAL NOT NULL,          -- the candidate's
  throttled   INTEGER NOT NULL        -- samples of the candidate that were taken under lowered clocks
) STRICT;

CREATE INDEX sitting_candidate ON sitting (candidate);

CREATE TABLE rival (
  sitting     INTEGER NOT NULL REFERENCES sitting,
  position    INTEGER NOT NULL,       -- from 1
  name        TEXT NOT NULL,
  version     TEXT NOT NULL,
  note        TEXT NOT NULL,          -- what it does otherwise than the task says
  verdict     TEXT NOT NULL,          -- by the limits of candidates
  reason      TEXT NOT NULL,
  relative_l2 REAL,                   -- NULL: it gave no answer
  median_us   REAL,                   -- NULL: it was not timed
  ratio       REAL,                   -- its time over the candidate's, with the 95 % interval
  ratio_low   REAL,
  ratio_high  REAL,
  PRIMARY KEY (sitting, position)
) STRICT, WITHOUT ROWID;

-- The times of the rounds. Position 0 is the candidate.
CREATE TABLE turn (
  sitting  INTEGER NOT NULL REFERENCES sitting,
  position INTEGER NOT NULL,
  round    INTEGER NOT NULL,
  us       REAL NOT NULL,
  PRIMARY KEY (sitting, position, round)
) STRICT, WITHOUT ROWID;
)sql",
                                                     R"sql(
-- Predictions that a screened search did not wait for.
CREATE TABLE late_prediction (
  run    INTEGER NOT NULL REFERENCES run,
  choice INTEGER NOT NULL,            -- of what is evaluated next, from 0
  genome INTEGER NOT NULL,            -- as the search counts those that it has asked a prediction of
  ticket INTEGER NOT NULL,            -- of the proposal that was chosen next
  PRIMARY KEY (run, choice, genome)
) STRICT, WITHOUT ROWID;
)sql",
                                                     R"sql(
-- What each kernel of a program takes. Of older builds all kernels together are known: the kernel without a name.
DROP VIEW leaderboard;
DROP VIEW elites;

CREATE TABLE build_kernel (
  candidate         INTEGER NOT NULL,
  build             INTEGER NOT NULL,
  kernel            TEXT NOT NULL,    -- its name in PTX
  registers         INTEGER NOT NULL,
  spill_bytes       INTEGER NOT NULL,
  stack_bytes       INTEGER NOT NULL,
  static_smem_bytes INTEGER NOT NULL,
  launched          INTEGER NOT NULL CHECK (launched IN (0, 1)),
  warning           TEXT NOT NULL,    -- of ptxas, that it loses performance
  PRIMARY KEY (candidate, build, kernel),
  FOREIGN KEY (candidate, build) REFERENCES build
) STRICT, WITHOUT ROWID;

INSERT INTO build_kernel
SELECT candidate, position, '', registers, spill_bytes, stack_bytes, static_smem_bytes, 1, '' FROM build;

ALTER TABLE build DROP COLUMN registers;
ALTER TABLE build DROP COLUMN spill_bytes;
ALTER TABLE build DROP COLUMN stack_bytes;
ALTER TABLE build DROP COLUMN static_smem_bytes;

CREATE VIEW elites AS
SELECT row_number() OVER (PARTITION BY elite.board ORDER BY elite.latency_us, elite.candidate) AS rank,
       task.name AS task, device.name AS device, device.arch, device.kind, board.objective,
       elite.candidate, elite.latency_us, evaluation.worst_relative_l2 AS relative_error,
       (SELECT max(registers) FROM build_kernel AS kernel
        WHERE kernel.candidate = elite.candidate AND launched) AS registers,
       candidate.family, candidate.genome, candidate.run, elite.since, task.hash AS task_hash,
       board.id AS board
FROM elite
JOIN board ON board.id = elite.board
JOIN task ON task.id = board.task
JOIN candidate ON candidate.id = elite.candidate
JOIN evaluation ON evaluation.candidate = elite.candidate
JOIN run ON run.id = candidate.run
JOIN device ON device.id = run.device
ORDER BY task.name, board.id, rank;

CREATE VIEW leaderboard AS
SELECT elites.task, elites.device, elites.arch, elites.kind, elites.objective,
       elites.candidate AS best, elites.latency_us, elites.relative_error, elites.family, elites.genome,
       (SELECT count(*) FROM run WHERE run.board = elites.board) AS runs,
       (SELECT count(*) FROM run JOIN candidate ON candidate.run = run.id
        WHERE run.board = elites.board) AS evaluated,
       (SELECT count(*) FROM run JOIN candidate ON candidate.run = run.id
        JOIN evaluation ON evaluation.candidate = candidate.id
        WHERE run.board = elites.board AND verdict = 'valid') AS valid,
       elites.since, elites.task_hash
FROM elites WHERE rank = 1;

-- The blocks of each launch that an SM holds.
CREATE TABLE residency (
  candidate  INTEGER NOT NULL REFERENCES candidate,
  position   INTEGER NOT NULL,
  kernel     TEXT NOT NULL,
  registers  INTEGER NOT NULL,
  smem_bytes INTEGER NOT NULL,
  blocks     INTEGER NOT NULL,
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;

-- An older evo wrote residency and comparisons in words.
ALTER TABLE evaluation RENAME COLUMN profile TO notes;

-- The case that showed a wrong answer.
CREATE TABLE mismatch (
  candidate      INTEGER PRIMARY KEY REFERENCES candidate,
  shape          TEXT NOT NULL,
  regime         TEXT NOT NULL,
  seed           INTEGER NOT NULL,
  output         TEXT NOT NULL,
  kind           TEXT NOT NULL,       -- the limit that it breaks
  error          REAL,
  allowed        REAL,                -- the limit
  elements       INTEGER NOT NULL,    -- how many break it
  first          INTEGER NOT NULL,    -- the index of the first of them
  got            TEXT NOT NULL,
  reference      TEXT NOT NULL,
  atol           REAL,
  rtol           REAL,
  found          TEXT NOT NULL,       -- when
  emulation_l2   REAL,                -- NULL: the limits do not follow an emulation
  emulation_row  REAL,
  draws          INTEGER NOT NULL,    -- of which these are the means
  mean_l2        REAL,
  mean_l2_limit  REAL,
  mean_row       REAL,
  mean_row_limit REAL,
  looks_like     TEXT NOT NULL
) STRICT;

-- A challenger and the elite that it would have displaced, timed in turns.
CREATE TABLE elite_comparison (
  candidate  INTEGER PRIMARY KEY REFERENCES candidate,
  elite      INTEGER NOT NULL,        -- 0: it is not in this database
  standing   TEXT NOT NULL,
  ratio      REAL,                    -- of the challenger's latency to the elite's
  ratio_low  REAL,
  ratio_high REAL,
  rounds     INTEGER NOT NULL,
  failure    TEXT NOT NULL
) STRICT;
)sql"};

std::int64_t version_of(Database& database) {
  const std::int64_t version = database.pragma("user_version");
  if (version > schema_version()) {
    throw usage_error(
        fmt::format("database {} was written by a newer evo (schema {}, this evo knows {}): update evo or "
                    "choose another --db",
                    database.path().string(), version, schema_version()));
  }
  return version;
}

bool is_empty(Database& database) {
  Statement statement = database.prepare("SELECT count(*) FROM sqlite_schema");
  return statement.next() && statement.integer(0) == 0;
}

void refuse_foreign(Database& database) {
  if (database.pragma("application_id") == kApplicationId) return;
  throw usage_error(fmt::format("{} is a database of another program: choose another --db", database.path().string()));
}

void apply(Database& database, int version) {
  database.execute(kMigrations.at(static_cast<std::size_t>(version) - 1));
  database.execute(fmt::format("PRAGMA user_version = {}", version).c_str());
}

}  // namespace

int schema_version() {
  return static_cast<int>(kMigrations.size());
}

void refuse_unknown(Database& database) {
  if (is_empty(database)) return;
  refuse_foreign(database);
  version_of(database);
}

void migrate(Database& database) {
  refuse_unknown(database);
  if (!is_empty(database) && version_of(database) == schema_version()) return;
  WriteTransaction transaction(database);
  // Asked again under the lock: another process may have done the work meanwhile.
  const bool fresh = is_empty(database);
  const int version = fresh ? 0 : static_cast<int>(version_of(database));
  if (fresh) database.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  for (int next = version + 1; next <= schema_version(); ++next) apply(database, next);
  transaction.commit();
}

void refuse_empty(Database& database) {
  if (!is_empty(database)) return;
  throw usage_error(fmt::format("database {} is empty: fill it with `evo run --db {}` or choose another --db",
                                database.path().string(), database.path().string()));
}

void require_schema(Database& database) {
  refuse_empty(database);
  refuse_foreign(database);
  const std::int64_t version = version_of(database);
  if (version < schema_version()) {
    throw usage_error(fmt::format(
        "database {} has schema {} of an older evo (this evo reads {}): `evo db compact --db {}` brings it up to date",
        database.path().string(), version, schema_version(), database.path().string()));
  }
}

}  // namespace evo
