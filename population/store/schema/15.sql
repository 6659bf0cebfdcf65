-- A device has one id everywhere: what --device takes. Its row has a number. A command line has its name in JSON.
ALTER TABLE device RENAME COLUMN id TO number;
ALTER TABLE device RENAME COLUMN label TO id;
ALTER TABLE run RENAME COLUMN command TO command_line;

-- A list of numbers is a JSON array: the samples of a timing, the rounds of a sitting and of its rivals.
ALTER TABLE timing ADD COLUMN samples_us TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sitting ADD COLUMN rounds_us TEXT NOT NULL DEFAULT '[]';
ALTER TABLE rival ADD COLUMN rounds_us TEXT NOT NULL DEFAULT '[]';

UPDATE timing SET samples_us = '[' || list || ']' FROM (
  SELECT candidate, timing, group_concat(iif(us IS NULL, 'null', printf('%!.17g', us))) AS list
  FROM (SELECT * FROM sample ORDER BY candidate, timing, position) GROUP BY candidate, timing) AS old
WHERE old.candidate = timing.candidate AND old.timing = timing.position;
UPDATE rival SET rounds_us = '[' || list || ']' FROM (
  SELECT sitting, position, group_concat(printf('%!.17g', us)) AS list
  FROM (SELECT * FROM turn ORDER BY sitting, position, round) GROUP BY sitting, position) AS old
WHERE old.sitting = rival.sitting AND old.position = rival.position;
UPDATE sitting SET rounds_us = '[' || list || ']' FROM (
  SELECT sitting, group_concat(printf('%!.17g', us)) AS list
  FROM (SELECT * FROM turn WHERE position = 0 ORDER BY sitting, round) GROUP BY sitting) AS old
WHERE old.sitting = sitting.id;

DROP TABLE sample;
DROP TABLE turn;

-- What is unknown, or has no limit, is NULL, not 0. Only constraints go: sqlite.org/lang_altertable.html.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(replace(replace(sql,
  'sm_mhz_low INTEGER NOT NULL DEFAULT 0', 'sm_mhz_low INTEGER'),
  'sm_mhz_high INTEGER NOT NULL DEFAULT 0', 'sm_mhz_high INTEGER'),
  'memory_mhz INTEGER NOT NULL DEFAULT 0', 'memory_mhz INTEGER'),
  'temperature_c INTEGER NOT NULL DEFAULT 0', 'temperature_c INTEGER') WHERE name = 'timing';
UPDATE sqlite_schema SET sql = replace(replace(sql, 'evaluation_limit INTEGER NOT NULL', 'evaluation_limit INTEGER'),
  'time_limit_s     REAL NOT NULL', 'time_limit_s     REAL') WHERE name = 'run';
PRAGMA writable_schema = RESET;

UPDATE timing SET sm_mhz_low = nullif(sm_mhz_low, 0), sm_mhz_high = nullif(sm_mhz_high, 0),
                  memory_mhz = nullif(memory_mhz, 0), temperature_c = nullif(temperature_c, 0);
UPDATE run SET evaluation_limit = nullif(evaluation_limit, 0), time_limit_s = nullif(time_limit_s, 0.0);
UPDATE run SET target = json_insert(target, '$.objective', 'latency');

-- The candidate whose result a duplicate has. An older evo told it in words: "same cubin as proposal 2: crashed, why".
CREATE TABLE original (
  candidate INTEGER PRIMARY KEY REFERENCES candidate,
  ticket    INTEGER NOT NULL,         -- of its proposal in the same run
  shared    TEXT NOT NULL,            -- what both have: source, cubin
  verdict   TEXT NOT NULL             -- the original's
) STRICT;

INSERT INTO original
SELECT candidate, CAST(substr(words, instr(words, ' as proposal ') + 13) AS INTEGER),
       iif(words LIKE 'same source%', 'source', 'cubin'),
       substr(words, instr(words, ': ') + 2, instr(words, ', ') - instr(words, ': ') - 2)
FROM (SELECT candidate, replace(reason, ' as candidate ', ' as proposal ') || ', ' AS words FROM evaluation
      WHERE verdict = 'duplicate' AND reason GLOB 'same * as [cp]* [0-9]*: *');
UPDATE evaluation SET reason = iif(instr(reason, ', '), substr(reason, instr(reason, ', ') + 2), '')
WHERE candidate IN (SELECT candidate FROM original);
