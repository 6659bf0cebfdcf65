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
