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
