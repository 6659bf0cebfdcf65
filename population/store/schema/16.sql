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
