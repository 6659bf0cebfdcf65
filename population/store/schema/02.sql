-- What a run was seeded with, in the order proposed: a JSON array of {genome, origin}.
ALTER TABLE run ADD COLUMN seeds TEXT NOT NULL DEFAULT '[]';
