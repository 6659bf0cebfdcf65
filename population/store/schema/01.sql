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
