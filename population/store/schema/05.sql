-- Proposals for each that was evaluated: the one of so many that was modelled to be the fastest.
ALTER TABLE run ADD COLUMN screen INTEGER NOT NULL DEFAULT 1;
