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
