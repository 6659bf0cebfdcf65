-- Why a proposer proposed the candidate, in its own words.
ALTER TABLE candidate ADD COLUMN note TEXT NOT NULL DEFAULT '';

-- Where the evaluation spent its time, in seconds; 0: unknown, or it came no further.
ALTER TABLE evaluation ADD COLUMN waiting_s REAL NOT NULL DEFAULT 0;
ALTER TABLE evaluation ADD COLUMN validation_s REAL NOT NULL DEFAULT 0;
ALTER TABLE evaluation ADD COLUMN timing_s REAL NOT NULL DEFAULT 0;
