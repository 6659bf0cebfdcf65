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
