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
