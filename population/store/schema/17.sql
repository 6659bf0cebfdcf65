-- A candidate's cubins and launch plans as one hash (binary_hash_of); NULL: unknown. Elites alone had one: a challenger
-- that waited while its run stood still, or the successor of a retracted elite, could be an elite's kernel once more.
ALTER TABLE candidate ADD COLUMN binary_hash TEXT;

UPDATE candidate SET binary_hash = (SELECT elite.binary_hash FROM elite WHERE elite.candidate = candidate.id);
