-- A device may be of any kind. Only a constraint goes, nothing stored changes: sqlite.org/lang_altertable.html.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, ' CHECK (kind IN (''cuda'', ''vgpu''))', '') WHERE name = 'device';
PRAGMA writable_schema = RESET;
