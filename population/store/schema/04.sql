-- Templates that a candidate has beside its task's: alleles and kernels that a proposer brought.
CREATE TABLE candidate_file (
  candidate INTEGER NOT NULL REFERENCES candidate,
  path      TEXT NOT NULL,
  text      INTEGER NOT NULL REFERENCES text,
  PRIMARY KEY (candidate, path)
) STRICT, WITHOUT ROWID;
