-- Whether the GPU's power limit lowered its clocks meanwhile.
ALTER TABLE timing ADD COLUMN power_limited INTEGER NOT NULL DEFAULT 0 CHECK (power_limited IN (0, 1));
