-- A database of schema 13, as evo 0.1.0 left it: two candidates of a task in ten lines, one of them an elite.
PRAGMA application_id = 1702260529;
PRAGMA user_version = 13;
BEGIN TRANSACTION;
CREATE TABLE board (
  id         INTEGER PRIMARY KEY,
  task       INTEGER NOT NULL REFERENCES task,
  device_key TEXT NOT NULL,
  objective  TEXT NOT NULL,
  UNIQUE (task, device_key, objective)
) STRICT;
INSERT INTO "board" VALUES(1,1,'vgpu NVIDIA H200 (virtual) sm_90a','latency 65536');
CREATE TABLE build (
  candidate         INTEGER NOT NULL REFERENCES candidate,
  position          INTEGER NOT NULL,
  specialisation    TEXT NOT NULL,
  arch              TEXT NOT NULL,
  registers         INTEGER NOT NULL,
  spill_bytes       INTEGER NOT NULL,
  static_smem_bytes INTEGER NOT NULL,
  stack_bytes       INTEGER NOT NULL,
  cubin_hash        TEXT NOT NULL,
  log               TEXT NOT NULL,
  compile_ms        REAL, flags TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "build" VALUES(1,0,'','sm_90a',128,0,0,0,'aab5447695a0cbdf25b4886d2151804d','ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function ''k_plain'' for ''sm_90a''
ptxas info    : Function properties for k_plain
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 128 registers, used 0 barriers
ptxas info    : Compiling entry function ''k'' for ''sm_90a''
ptxas info    : Function properties for k
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
',14813.210962,'--gpu-architecture=sm_90a --std=c++17 --generate-line-info --ptxas-options=-v');
INSERT INTO "build" VALUES(2,0,'','sm_90a',128,0,0,0,'7d199a8773cf2b97890f337f868c7c37','ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function ''k_plain'' for ''sm_90a''
ptxas info    : Function properties for k_plain
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 128 registers, used 0 barriers
ptxas info    : Compiling entry function ''k'' for ''sm_90a''
ptxas info    : Function properties for k
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
',16747.200595,'--gpu-architecture=sm_90a --std=c++17 --generate-line-info --ptxas-options=-v');
CREATE TABLE candidate (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  run         INTEGER NOT NULL REFERENCES run,
  ticket      INTEGER NOT NULL,
  op          TEXT NOT NULL,
  family      TEXT NOT NULL,
  genome      TEXT NOT NULL,          -- canonical JSON
  source_hash TEXT NOT NULL,
  recorded_at TEXT NOT NULL, note TEXT NOT NULL DEFAULT '',
  UNIQUE (run, ticket),
  UNIQUE (run, genome)
) STRICT;
INSERT INTO "candidate" VALUES(1,1,0,'random','tuned','{"family":"tuned","genes":{"threads":64}}','1cb2734691de5c28f8c33a8ddecb4254','2026-11-29T11:43:56.628Z','');
INSERT INTO "candidate" VALUES(2,1,1,'random','tuned','{"family":"tuned","genes":{"threads":1024}}','7111dea08e6dbc6adc92a84e4a51b697','2026-11-29T11:43:56.812Z','');
CREATE TABLE candidate_file (
  candidate INTEGER NOT NULL REFERENCES candidate,
  path      TEXT NOT NULL,
  text      INTEGER NOT NULL REFERENCES text,
  PRIMARY KEY (candidate, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE case_error (
  candidate   INTEGER NOT NULL REFERENCES candidate,
  position    INTEGER NOT NULL,
  shape       TEXT NOT NULL,
  seed        INTEGER NOT NULL,
  regime      TEXT NOT NULL,
  output      TEXT NOT NULL,
  relative_l2 REAL,
  max_abs     REAL,
  cosine      REAL,
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "case_error" VALUES(1,0,'65536',0,'normal','y',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(1,1,'65536',2,'normal','y',0.0,0.0,9.99999999999999888977e-01);
INSERT INTO "case_error" VALUES(1,2,'65536',2,'outliers','y',0.0,0.0,9.99999999999999777955e-01);
INSERT INTO "case_error" VALUES(1,3,'65536',0,'sparse','y',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,4,'65536',2,'sparse','y',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,5,'65536',1,'large','y',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,6,'65536',1,'normal','y',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,7,'65536',2,'constant_rows','y',0.0,0.0,9.99999999999999888977e-01);
INSERT INTO "case_error" VALUES(1,8,'65536',2,'large','y',0.0,0.0,9.99999999999999777955e-01);
INSERT INTO "case_error" VALUES(1,9,'65536',0,'outliers','y',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,10,'65536',1,'sparse','y',0.0,0.0,9.99999999999999888977e-01);
INSERT INTO "case_error" VALUES(1,11,'65536',0,'large','y',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,12,'65536',1,'outliers','y',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,13,'65536',0,'constant_rows','y',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,14,'65536',1,'constant_rows','y',0.0,0.0,1.0);
CREATE TABLE counter (
  candidate INTEGER NOT NULL REFERENCES candidate,
  shape     TEXT NOT NULL,
  modelled  INTEGER NOT NULL CHECK (modelled IN (0, 1)),
  launch    INTEGER NOT NULL,         -- of one call, from 0
  kernel    TEXT NOT NULL,
  metric    TEXT NOT NULL,            -- as ncu names it
  value     REAL NOT NULL,
  PRIMARY KEY (candidate, shape, modelled, launch, metric)
) STRICT, WITHOUT ROWID;
CREATE TABLE device (
  id     INTEGER PRIMARY KEY,
  key    TEXT NOT NULL,               -- kind, name and arch: what boards are keyed by
  label  TEXT NOT NULL,               -- cuda:0, vgpu:h200
  kind   TEXT NOT NULL,
  name   TEXT NOT NULL,
  arch   TEXT NOT NULL,
  uuid   TEXT NOT NULL,
  driver TEXT NOT NULL,
  facts  TEXT NOT NULL,               -- JSON object
  UNIQUE (label, kind, name, arch, uuid, driver, facts)
) STRICT;
INSERT INTO "device" VALUES(1,'vgpu NVIDIA H200 (virtual) sm_90a','vgpu:h200','vgpu','NVIDIA H200 (virtual)','sm_90a','','','{"registers_per_sm":65536,"sm":90,"sm_count":132,"smem_per_block":232448,"smem_per_sm":233472,"threads_per_block":1024,"wgmma":true}');
CREATE TABLE elite (
  candidate   INTEGER PRIMARY KEY REFERENCES candidate,
  board       INTEGER NOT NULL REFERENCES board,
  latency_us  REAL NOT NULL CHECK (latency_us > 0),
  source_hash TEXT NOT NULL,
  binary_hash TEXT,                   -- cubins and launch plans; NULL: unknown
  since       TEXT NOT NULL,
  UNIQUE (board, source_hash),
  UNIQUE (board, binary_hash)
) STRICT;
INSERT INTO "elite" VALUES(1,1,8.61912568306010928864e-01,'1cb2734691de5c28f8c33a8ddecb4254','15cdc59391fec09e2d92c5d4896fd841','2026-11-29T11:43:56.628Z');
CREATE TABLE elite_history (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  board        INTEGER NOT NULL REFERENCES board,
  entered      INTEGER NOT NULL UNIQUE REFERENCES candidate,
  entered_us   REAL NOT NULL,
  displaced    INTEGER UNIQUE REFERENCES candidate,
  displaced_us REAL CHECK ((displaced IS NULL) = (displaced_us IS NULL)),
  at           TEXT NOT NULL,
  CHECK (displaced IS NULL OR entered_us < displaced_us)
) STRICT;
INSERT INTO "elite_history" VALUES(1,1,1,8.61912568306010928864e-01,NULL,NULL,'2026-11-29T11:43:56.628Z');
CREATE TABLE evaluation (
  candidate         INTEGER PRIMARY KEY REFERENCES candidate,
  verdict           TEXT NOT NULL,
  reason            TEXT NOT NULL,
  latency_us        REAL,
  worst_relative_l2 REAL,
  profile           TEXT NOT NULL,
  salt              INTEGER NOT NULL
, waiting_s REAL NOT NULL DEFAULT 0, validation_s REAL NOT NULL DEFAULT 0, timing_s REAL NOT NULL DEFAULT 0, device TEXT NOT NULL DEFAULT '', uuid TEXT NOT NULL DEFAULT '', host TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "evaluation" VALUES(1,'valid','',8.61912568306010928864e-01,0.0,'k: 10 registers, 0 B shared, 32 blocks/SM
SAME compared with elite 3: 0.9950 [0.9900, 1.0001] of its latency over 15 interleaved rounds
',2376332223740182770,14.575794528,13.156077357,1.051985328,'vgpu:h200','','vm');
INSERT INTO "evaluation" VALUES(2,'wrong_answer','shape 65536, regime normal, seed 0: y: relative L2 error 0.7 (limit 1e-05); looks like: a factor of 2',0.0,0.0,'k: 10 registers, 0 B shared, 2 blocks/SM
',2376332223740182770,7.3409e-05,0.09991305,0.0,'vgpu:h200','','vm');
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
CREATE TABLE exchange_candidate (
  candidate INTEGER PRIMARY KEY REFERENCES candidate,
  exchange  INTEGER NOT NULL REFERENCES exchange
) STRICT;
CREATE TABLE late_prediction (
  run    INTEGER NOT NULL REFERENCES run,
  choice INTEGER NOT NULL,            -- of what is evaluated next, from 0
  genome INTEGER NOT NULL,            -- as the search counts those that it has asked a prediction of
  ticket INTEGER NOT NULL,            -- of the proposal that was chosen next
  PRIMARY KEY (run, choice, genome)
) STRICT, WITHOUT ROWID;
CREATE TABLE note (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  candidate INTEGER NOT NULL REFERENCES candidate,
  at        TEXT NOT NULL,
  content   TEXT NOT NULL
) STRICT;
CREATE TABLE parent (
  candidate INTEGER NOT NULL REFERENCES candidate,
  position  INTEGER NOT NULL,
  parent    INTEGER NOT NULL REFERENCES candidate CHECK (parent < candidate),
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE program (
  candidate      INTEGER NOT NULL REFERENCES candidate,
  position       INTEGER NOT NULL,
  specialisation TEXT NOT NULL,       -- JSON object
  source         INTEGER NOT NULL REFERENCES text,
  source_hash    TEXT NOT NULL,
  max_registers  INTEGER NOT NULL,
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "program" VALUES(1,0,'{}',98,'0590e8bfaddc64a52191a858c0c6b132',0);
INSERT INTO "program" VALUES(2,0,'{}',99,'baac0be1761b65d8a3c7c4ffa663422c',0);
CREATE TABLE rival (
  sitting     INTEGER NOT NULL REFERENCES sitting,
  position    INTEGER NOT NULL,       -- from 1
  name        TEXT NOT NULL,
  version     TEXT NOT NULL,
  note        TEXT NOT NULL,          -- what it does otherwise than the task says
  verdict     TEXT NOT NULL,          -- by the limits of candidates
  reason      TEXT NOT NULL,
  relative_l2 REAL,                   -- NULL: it gave no answer
  median_us   REAL,                   -- NULL: it was not timed
  ratio       REAL,                   -- its time over the candidate's, with the 95 % interval
  ratio_low   REAL,
  ratio_high  REAL,
  PRIMARY KEY (sitting, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE run (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  board            INTEGER NOT NULL REFERENCES board,
  device           INTEGER NOT NULL REFERENCES device,
  target           TEXT NOT NULL,     -- JSON: options, timed, validated
  family           TEXT NOT NULL,     -- searched alone; empty: every one that fits
  strategy         TEXT NOT NULL,
  seed             INTEGER NOT NULL,  -- seed and salt: the bits of an unsigned number
  salt             INTEGER NOT NULL,
  evaluation_limit INTEGER NOT NULL,
  time_limit_s     REAL NOT NULL,
  width            INTEGER NOT NULL,
  command          TEXT NOT NULL,
  evo_version      TEXT NOT NULL,
  nvrtc_version    TEXT NOT NULL,
  status           TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted', 'failed')),
  started_at       TEXT NOT NULL,
  finished_at      TEXT
, seeds TEXT NOT NULL DEFAULT '[]', screen INTEGER NOT NULL DEFAULT 1, answers TEXT NOT NULL DEFAULT 'asked' CHECK (answers IN ('asked', 'finished'))) STRICT;
INSERT INTO "run" VALUES(1,1,1,'{"objective":"latency","options":{},"timed":[{"name":"65536","parameters":{"N":65536}}],"validated":[{"name":"65536","parameters":{"N":65536}}]}','','evolve',2585200359,2376332223740182770,2,0.0,4,'evo tune k.json --device vgpu --evals 2 --quiet --db old.db','0.1.0','13.0','finished','2026-11-29T11:43:26.545Z','2026-11-29T11:43:56.812Z','[]',1,'asked');
CREATE TABLE run_device (
  run      INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,          -- from 1
  device   INTEGER NOT NULL REFERENCES device,
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE sample (
  candidate INTEGER NOT NULL,
  timing    INTEGER NOT NULL,
  position  INTEGER NOT NULL,
  us        REAL,
  PRIMARY KEY (candidate, timing, position),
  FOREIGN KEY (candidate, timing) REFERENCES timing
) STRICT, WITHOUT ROWID;
INSERT INTO "sample" VALUES(1,0,0,8.61912568306010928864e-01);
CREATE TABLE selftest (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  task          INTEGER NOT NULL REFERENCES task,
  device        INTEGER NOT NULL REFERENCES device,
  passed        INTEGER NOT NULL CHECK (passed IN (0, 1)),
  judged        INTEGER NOT NULL,
  wrong         INTEGER NOT NULL,
  salt          INTEGER NOT NULL,
  evo_version   TEXT NOT NULL,
  nvrtc_version TEXT NOT NULL,
  at            TEXT NOT NULL
) STRICT;
CREATE TABLE sitting (
  id          INTEGER PRIMARY KEY,
  candidate   INTEGER NOT NULL REFERENCES candidate,
  device      INTEGER NOT NULL REFERENCES device,
  at          TEXT NOT NULL,
  salt        INTEGER NOT NULL,       -- mixed into the seeds of the inputs
  evo_version TEXT NOT NULL,
  median_us   REAL NOT NULL,          -- the candidate's
  throttled   INTEGER NOT NULL        -- samples of the candidate that were taken under lowered clocks
) STRICT;
CREATE TABLE task (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (name, hash)
) STRICT;
INSERT INTO "task" VALUES(1,'k','c069bab57396d6b894969e4a21f22887');
CREATE TABLE task_file (
  task INTEGER NOT NULL REFERENCES task,
  path TEXT NOT NULL,
  text INTEGER NOT NULL REFERENCES text,
  PRIMARY KEY (task, path)
) STRICT, WITHOUT ROWID;
INSERT INTO "task_file" VALUES(1,'k/reference.cu',93);
INSERT INTO "task_file" VALUES(1,'k/source/k.cu',94);
INSERT INTO "task_file" VALUES(1,'k/task.json',95);
INSERT INTO "task_file" VALUES(1,'k/tuned/family.json',96);
INSERT INTO "task_file" VALUES(1,'k/tuned/kernel.cu',97);
CREATE TABLE text (
  id      INTEGER PRIMARY KEY,
  hash    TEXT NOT NULL UNIQUE,       -- XXH3-128 of content, hex
  content TEXT NOT NULL
) STRICT;
INSERT INTO "text" VALUES(93,'1a2f7d84de082d30189b3a3d6190ba08','//% # k_plain of k.cu.
#define threads 64
//% include "k/source/k.cu"
');
INSERT INTO "text" VALUES(94,'0a590ee05d4b6660968415db4a419147','extern "C" __global__ void k(float* y, const float* x, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void __launch_bounds__(64) k_plain(float* y, const float* x, int n) {
  double a[48];
#pragma unroll
  for (int j = 0; j < 48; ++j) a[j] = x[(threadIdx.x + j) % n];
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int j = 0; j < 48; ++j) a[j] = a[j] * a[(j + 7) % 48] + a[(j + 1) % 48];
  double s = 0;
#pragma unroll
  for (int j = 0; j < 48; ++j) s += a[j];
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + (s == 12345.678 ? 1.0f : 0.0f);
}
');
INSERT INTO "text" VALUES(95,'ae7f213402a8697705c204742933edb1','{
  "shape_parameters": ["N"],
  "inputs": [{"name": "x", "dtype": "f32", "dims": ["N"]}],
  "outputs": [{"name": "y", "dtype": "f32", "dims": ["N"]}],
  "shapes": {"65536": {"N": 65536}},
  "reference": {"kernel": "k_plain", "grid": ["1", "1", "1"], "block": ["1", "1", "1"], "arguments": ["y", "x", "N"]}
}
');
INSERT INTO "text" VALUES(96,'c44de517ab5f2b78d6128cfdcce63a36','{
  "summary": "k of k.cu",
  "genes": [{"name": "threads", "values": [64, 1024]}],
  "constraints": [{"that": "threads <= threads_per_block", "why": "a block has at most that many threads"}],
  "launches": [
    {
      "kernel": "k",
      "grid": ["ceil_div(N, threads)", "1", "1"],
      "block": ["threads", "1", "1"],
      "arguments": ["y", "x", "N"]
    }
  ]
}
');
INSERT INTO "text" VALUES(97,'40b9f048164ca026f096675e0e62880b','//% # The genes are macros of k.cu, which is as its author wrote it.
#define threads ${threads}
//% include "k/source/k.cu"
');
INSERT INTO "text" VALUES(98,'c1d7b509062d8d9e6efaa1158f151691','#define threads 64
extern "C" __global__ void k(float* y, const float* x, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void __launch_bounds__(64) k_plain(float* y, const float* x, int n) {
  double a[48];
#pragma unroll
  for (int j = 0; j < 48; ++j) a[j] = x[(threadIdx.x + j) % n];
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int j = 0; j < 48; ++j) a[j] = a[j] * a[(j + 7) % 48] + a[(j + 1) % 48];
  double s = 0;
#pragma unroll
  for (int j = 0; j < 48; ++j) s += a[j];
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + (s == 12345.678 ? 1.0f : 0.0f);
}
');
INSERT INTO "text" VALUES(99,'36a6486f7e0d0fbf6df734f758aeed06','#define threads 1024
extern "C" __global__ void k(float* y, const float* x, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void __launch_bounds__(64) k_plain(float* y, const float* x, int n) {
  double a[48];
#pragma unroll
  for (int j = 0; j < 48; ++j) a[j] = x[(threadIdx.x + j) % n];
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int j = 0; j < 48; ++j) a[j] = a[j] * a[(j + 7) % 48] + a[(j + 1) % 48];
  double s = 0;
#pragma unroll
  for (int j = 0; j < 48; ++j) s += a[j];
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + (s == 12345.678 ? 1.0f : 0.0f);
}
');
CREATE TABLE timing (
  candidate INTEGER NOT NULL REFERENCES candidate,
  position  INTEGER NOT NULL,
  shape     TEXT NOT NULL,
  modelled  INTEGER NOT NULL CHECK (modelled IN (0, 1)),
  cold      INTEGER NOT NULL CHECK (cold IN (0, 1)),
  median_us REAL,
  low_us    REAL,
  high_us   REAL,
  throttled INTEGER NOT NULL, sm_mhz_low INTEGER NOT NULL DEFAULT 0, sm_mhz_high INTEGER NOT NULL DEFAULT 0, memory_mhz INTEGER NOT NULL DEFAULT 0, other_processes INTEGER NOT NULL DEFAULT 0, power_limited INTEGER NOT NULL DEFAULT 0 CHECK (power_limited IN (0, 1)), temperature_c INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "timing" VALUES(1,0,'65536',1,0,8.61912568306010928864e-01,8.61912568306010928864e-01,8.61912568306010928864e-01,0,0,0,0,0,0,0);
CREATE TABLE turn (
  sitting  INTEGER NOT NULL REFERENCES sitting,
  position INTEGER NOT NULL,
  round    INTEGER NOT NULL,
  us       REAL NOT NULL,
  PRIMARY KEY (sitting, position, round)
) STRICT, WITHOUT ROWID;
CREATE INDEX elite_history_board ON elite_history (board);
CREATE TRIGGER elite_at_most_three BEFORE INSERT ON elite
WHEN (SELECT count(*) FROM elite WHERE board = NEW.board) >= 3
BEGIN SELECT RAISE(ABORT, 'a board has three elites at most'); END;
CREATE TRIGGER elite_is_valid BEFORE INSERT ON elite
WHEN NOT EXISTS (SELECT 1 FROM evaluation JOIN candidate ON candidate.id = evaluation.candidate
                 JOIN run ON run.id = candidate.run
                 WHERE candidate.id = NEW.candidate AND run.board = NEW.board
                   AND verdict = 'valid' AND evaluation.latency_us = NEW.latency_us)
BEGIN SELECT RAISE(ABORT, 'an elite is a valid candidate of its own board'); END;
CREATE TRIGGER elite_is_replaced_not_changed BEFORE UPDATE ON elite
BEGIN SELECT RAISE(ABORT, 'elites are replaced, not changed'); END;
CREATE VIEW elites AS
SELECT row_number() OVER (PARTITION BY elite.board ORDER BY elite.latency_us, elite.candidate) AS rank,
       task.name AS task, device.name AS device, device.arch, device.kind, board.objective,
       elite.candidate, elite.latency_us, evaluation.worst_relative_l2 AS relative_error,
       (SELECT max(registers) FROM build WHERE build.candidate = elite.candidate) AS registers,
       candidate.family, candidate.genome, candidate.run, elite.since, task.hash AS task_hash,
       board.id AS board
FROM elite
JOIN board ON board.id = elite.board
JOIN task ON task.id = board.task
JOIN candidate ON candidate.id = elite.candidate
JOIN evaluation ON evaluation.candidate = elite.candidate
JOIN run ON run.id = candidate.run
JOIN device ON device.id = run.device
ORDER BY task.name, board.id, rank;
CREATE VIEW leaderboard AS
SELECT elites.task, elites.device, elites.arch, elites.kind, elites.objective,
       elites.candidate AS best, elites.latency_us, elites.relative_error, elites.family, elites.genome,
       (SELECT count(*) FROM run WHERE run.board = elites.board) AS runs,
       (SELECT count(*) FROM run JOIN candidate ON candidate.run = run.id
        WHERE run.board = elites.board) AS evaluated,
       (SELECT count(*) FROM run JOIN candidate ON candidate.run = run.id
        JOIN evaluation ON evaluation.candidate = candidate.id
        WHERE run.board = elites.board AND verdict = 'valid') AS valid,
       elites.since, elites.task_hash
FROM elites WHERE rank = 1;
CREATE VIEW lineage AS
WITH RECURSIVE ancestor(elite, candidate, distance) AS (
  SELECT candidate, candidate, 0 FROM elite
  UNION
  SELECT ancestor.elite, parent.parent, ancestor.distance + 1
  FROM ancestor JOIN parent ON parent.candidate = ancestor.candidate
), nearest AS (
  SELECT elite, candidate, min(distance) AS distance FROM ancestor GROUP BY elite, candidate
)
SELECT nearest.elite, nearest.distance, candidate.id AS candidate, candidate.op, evaluation.verdict,
       evaluation.latency_us, candidate.family, candidate.genome
FROM nearest
JOIN candidate ON candidate.id = nearest.candidate
JOIN evaluation ON evaluation.candidate = candidate.id
ORDER BY nearest.elite, nearest.distance, candidate.id;
CREATE INDEX exchange_run ON exchange (run);
CREATE INDEX note_candidate ON note (candidate);
CREATE INDEX sitting_candidate ON sitting (candidate);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('run',1);
INSERT INTO "sqlite_sequence" VALUES('candidate',2);
INSERT INTO "sqlite_sequence" VALUES('elite_history',1);
COMMIT;
