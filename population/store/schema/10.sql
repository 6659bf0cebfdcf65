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
