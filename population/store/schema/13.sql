-- Predictions that a screened search did not wait for.
CREATE TABLE late_prediction (
  run    INTEGER NOT NULL REFERENCES run,
  choice INTEGER NOT NULL,            -- of what is evaluated next, from 0
  genome INTEGER NOT NULL,            -- as the search counts those that it has asked a prediction of
  ticket INTEGER NOT NULL,            -- of the proposal that was chosen next
  PRIMARY KEY (run, choice, genome)
) STRICT, WITHOUT ROWID;
