-- Whether a kernel may wait for the whole grid: it is launched cooperatively. Kernels of older builds were not.
ALTER TABLE build_kernel ADD COLUMN cooperative INTEGER NOT NULL DEFAULT 0;

-- Elites are checked further. A check that found nothing: it was passed, or could not be made.
CREATE TABLE elite_check (
  candidate INTEGER NOT NULL REFERENCES candidate,
  name      TEXT NOT NULL,            -- sanitiser, sizes
  outcome   TEXT NOT NULL,            -- passed, impossible
  note      TEXT NOT NULL,            -- what was tried, or why it could not be
  PRIMARY KEY (candidate, name)
) STRICT, WITHOUT ROWID;

-- A candidate that its search was told as valid, and that a check found wrong. Its evaluation has the finding.
CREATE TABLE retraction (
  candidate  INTEGER PRIMARY KEY REFERENCES candidate,
  answered   INTEGER,                 -- answers that the search had when it was told; NULL: it was not told yet
  latency_us REAL NOT NULL            -- what it was told first
) STRICT;

-- An elite may leave without another that enters, and may enter again.
CREATE TABLE history (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  board        INTEGER NOT NULL REFERENCES board,
  entered      INTEGER REFERENCES candidate,
  entered_us   REAL CHECK ((entered IS NULL) = (entered_us IS NULL)),
  displaced    INTEGER REFERENCES candidate,
  displaced_us REAL CHECK ((displaced IS NULL) = (displaced_us IS NULL)),
  at           TEXT NOT NULL,
  CHECK (entered IS NOT NULL OR displaced IS NOT NULL),
  CHECK (entered IS NULL OR displaced IS NULL OR entered_us < displaced_us)
) STRICT;

INSERT INTO history SELECT id, board, entered, entered_us, displaced, displaced_us, at FROM elite_history;
DROP TABLE elite_history;
ALTER TABLE history RENAME TO elite_history;
CREATE INDEX elite_history_board ON elite_history (board);

-- Inputs on which a kernel of a task was wrong, found by evo attack: later candidates of the task are checked on them.
CREATE TABLE attack (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  task        INTEGER NOT NULL REFERENCES task,
  device      INTEGER NOT NULL REFERENCES device,
  regime      TEXT NOT NULL,          -- as task.json has it
  shape       TEXT NOT NULL,          -- its parameters, in JSON
  error       REAL,                   -- over its limit; NULL: the kernel gave no answer
  reason      TEXT NOT NULL,
  origin      TEXT NOT NULL,          -- the kernel
  evo_version TEXT NOT NULL,
  at          TEXT NOT NULL,
  UNIQUE (task, regime)
) STRICT;
