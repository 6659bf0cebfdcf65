-- A database of schema 1, as evo 0.1.0 left it: four candidates of a toy task, three of them elites.
PRAGMA application_id = 1702260529;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE board (
  id         INTEGER PRIMARY KEY,
  task       INTEGER NOT NULL REFERENCES task,
  device_key TEXT NOT NULL,
  objective  TEXT NOT NULL,
  UNIQUE (task, device_key, objective)
) STRICT;
INSERT INTO "board" VALUES(1,1,'vgpu NVIDIA H200 (virtual) sm_90a','latency middle mode=exact');
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
  compile_ms        REAL,
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "build" VALUES(1,0,'','sm_90a',12,0,0,0,'4158f999f1500826dab5a355d6d7b44b','ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function ''toy'' for ''sm_90a''
ptxas info    : Function properties for toy
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
',625.911019);
INSERT INTO "build" VALUES(2,0,'','sm_90a',14,0,0,0,'885ccc69fd0a144dfc3f867af41eab60','ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function ''toy'' for ''sm_90a''
ptxas info    : Function properties for toy
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 0 barriers
',740.724273);
INSERT INTO "build" VALUES(3,0,'','sm_90a',12,0,0,0,'3f667882430f475c40cf353de08b6be4','ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function ''toy'' for ''sm_90a''
ptxas info    : Function properties for toy
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
',414.648358);
INSERT INTO "build" VALUES(4,0,'','sm_90a',14,0,0,0,'0095a0003e5ccf9d99254b3e82810d5f','ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function ''toy'' for ''sm_90a''
ptxas info    : Function properties for toy
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 0 barriers
',358.215669);
CREATE TABLE candidate (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  run         INTEGER NOT NULL REFERENCES run,
  ticket      INTEGER NOT NULL,
  op          TEXT NOT NULL,
  family      TEXT NOT NULL,
  genome      TEXT NOT NULL,          -- canonical JSON
  source_hash TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  UNIQUE (run, ticket),
  UNIQUE (run, genome)
) STRICT;
INSERT INTO "candidate" VALUES(1,1,0,'random','plain','{"family":"plain","genes":{"items":1,"padding":0,"threads":256,"wrong":false}}','c24d1bf7c338460ece4a3ff69f2d90a3','2026-11-21T22:34:41.232Z');
INSERT INTO "candidate" VALUES(2,1,1,'random','plain','{"family":"plain","genes":{"items":2,"order":"blocked","threads":128,"wrong":false}}','953318c76cf8a88709a6000d76aa9ce4','2026-11-21T22:34:41.234Z');
INSERT INTO "candidate" VALUES(3,1,2,'random','plain','{"family":"plain","genes":{"items":1,"padding":0,"threads":32,"wrong":false}}','d31be5298b3288abfe1699674cd8f404','2026-11-21T22:34:41.792Z');
INSERT INTO "candidate" VALUES(4,1,3,'random','plain','{"family":"plain","genes":{"items":2,"order":"blocked","threads":64,"wrong":false}}','db2e6c7317bd4ca8cf2179ed20ae5d2d','2026-11-21T22:34:41.793Z');
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
INSERT INTO "case_error" VALUES(1,0,'tiny',0,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,1,'middle',0,'normal','c',0.0,0.0,9.99999999999999777955e-01);
INSERT INTO "case_error" VALUES(1,2,'tiny',1,'peaked','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,3,'middle',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(1,4,'tiny',1,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,5,'middle',1,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(1,6,'tiny',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(1,7,'middle',1,'peaked','c',0.0,0.0,9.99999999999999888977e-01);
INSERT INTO "case_error" VALUES(1,8,'middle',0,'normal','c',0.0,0.0,9.99999999999999777955e-01);
INSERT INTO "case_error" VALUES(1,9,'middle',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(2,0,'tiny',0,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(2,1,'middle',0,'normal','c',0.0,0.0,9.99999999999999777955e-01);
INSERT INTO "case_error" VALUES(2,2,'tiny',1,'peaked','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(2,3,'middle',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(2,4,'tiny',1,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(2,5,'middle',1,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(2,6,'tiny',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(2,7,'middle',1,'peaked','c',0.0,0.0,9.99999999999999888977e-01);
INSERT INTO "case_error" VALUES(2,8,'middle',0,'normal','c',0.0,0.0,9.99999999999999777955e-01);
INSERT INTO "case_error" VALUES(2,9,'middle',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(3,0,'tiny',0,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(3,1,'middle',0,'normal','c',0.0,0.0,9.99999999999999777955e-01);
INSERT INTO "case_error" VALUES(3,2,'tiny',1,'peaked','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(3,3,'middle',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(3,4,'tiny',1,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(3,5,'middle',1,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(3,6,'tiny',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(3,7,'middle',1,'peaked','c',0.0,0.0,9.99999999999999888977e-01);
INSERT INTO "case_error" VALUES(3,8,'middle',0,'normal','c',0.0,0.0,9.99999999999999777955e-01);
INSERT INTO "case_error" VALUES(3,9,'middle',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(4,0,'tiny',0,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(4,1,'middle',0,'normal','c',0.0,0.0,9.99999999999999777955e-01);
INSERT INTO "case_error" VALUES(4,2,'tiny',1,'peaked','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(4,3,'middle',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(4,4,'tiny',1,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(4,5,'middle',1,'normal','c',0.0,0.0,1.0);
INSERT INTO "case_error" VALUES(4,6,'tiny',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
INSERT INTO "case_error" VALUES(4,7,'middle',1,'peaked','c',0.0,0.0,9.99999999999999888977e-01);
INSERT INTO "case_error" VALUES(4,8,'middle',0,'normal','c',0.0,0.0,9.99999999999999777955e-01);
INSERT INTO "case_error" VALUES(4,9,'middle',0,'peaked','c',0.0,0.0,1.00000000000000022204e+00);
CREATE TABLE device (
  id     INTEGER PRIMARY KEY,
  key    TEXT NOT NULL,               -- kind, name and arch: what boards are keyed by
  label  TEXT NOT NULL,               -- cuda:0, vgpu:h200
  kind   TEXT NOT NULL CHECK (kind IN ('cuda', 'vgpu')),
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
INSERT INTO "elite" VALUES(1,1,8.08907103825136530872e-01,'c24d1bf7c338460ece4a3ff69f2d90a3','601823f28ca9c7f96c409fdeede0030d','2026-11-21T22:34:41.232Z');
INSERT INTO "elite" VALUES(3,1,7.93606557377049215418e-01,'d31be5298b3288abfe1699674cd8f404','34e88bc92bce60c0344db01dd8cf46a3','2026-11-21T22:34:41.792Z');
INSERT INTO "elite" VALUES(4,1,8.2693989071038254135e-01,'db2e6c7317bd4ca8cf2179ed20ae5d2d','f175c81622d333404589711df82de170','2026-11-21T22:34:41.793Z');
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
INSERT INTO "elite_history" VALUES(1,1,1,8.08907103825136530872e-01,NULL,NULL,'2026-11-21T22:34:41.232Z');
INSERT INTO "elite_history" VALUES(2,1,2,8.37868852459016322242e-01,NULL,NULL,'2026-11-21T22:34:41.234Z');
INSERT INTO "elite_history" VALUES(3,1,3,7.93606557377049215418e-01,NULL,NULL,'2026-11-21T22:34:41.792Z');
INSERT INTO "elite_history" VALUES(4,1,4,8.2693989071038254135e-01,2,8.37868852459016322242e-01,'2026-11-21T22:34:41.793Z');
CREATE TABLE evaluation (
  candidate         INTEGER PRIMARY KEY REFERENCES candidate,
  verdict           TEXT NOT NULL,
  reason            TEXT NOT NULL,
  latency_us        REAL,
  worst_relative_l2 REAL,
  profile           TEXT NOT NULL,
  salt              INTEGER NOT NULL
) STRICT;
INSERT INTO "evaluation" VALUES(1,'valid','',8.08907103825136530872e-01,0.0,'toy: 12 registers, 0 B shared, 8 blocks/SM
',-8912662869939471853);
INSERT INTO "evaluation" VALUES(2,'valid','',8.37868852459016322242e-01,0.0,'toy: 14 registers, 0 B shared, 16 blocks/SM
',-8912662869939471853);
INSERT INTO "evaluation" VALUES(3,'valid','',7.93606557377049215418e-01,0.0,'toy: 12 registers, 0 B shared, 32 blocks/SM
',-8912662869939471853);
INSERT INTO "evaluation" VALUES(4,'valid','',8.2693989071038254135e-01,0.0,'toy: 14 registers, 0 B shared, 32 blocks/SM
',-8912662869939471853);
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
INSERT INTO "program" VALUES(1,0,'{}',5,'7ad5adfc19600b7606819042b5204cdc',0);
INSERT INTO "program" VALUES(2,0,'{}',6,'67ac6642b35ee94a25857caa8f63fd8f',0);
INSERT INTO "program" VALUES(3,0,'{}',7,'46edd87b65ec2f4933ea07bd511acef8',0);
INSERT INTO "program" VALUES(4,0,'{}',8,'deafc09984999ead6b3e87966bba7f7b',0);
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
) STRICT;
INSERT INTO "run" VALUES(1,1,1,'{"objective":"latency","options":{"mode":"exact"},"timed":[{"name":"middle","parameters":{"N":700}}],"validated":[{"name":"tiny","parameters":{"N":5}},{"name":"middle","parameters":{"N":700}}]}','','random',3,-8912662869939471853,4,0.0,4,'evo run --task toy --device vgpu --evals 4 --seed 3 --db old.db --quiet --strategy random','0.1.0','13.0','finished','2026-11-21T22:34:40.471Z','2026-11-21T22:34:41.794Z');
CREATE TABLE sample (
  candidate INTEGER NOT NULL,
  timing    INTEGER NOT NULL,
  position  INTEGER NOT NULL,
  us        REAL,
  PRIMARY KEY (candidate, timing, position),
  FOREIGN KEY (candidate, timing) REFERENCES timing
) STRICT, WITHOUT ROWID;
INSERT INTO "sample" VALUES(1,0,0,8.08907103825136530872e-01);
INSERT INTO "sample" VALUES(2,0,0,8.37868852459016322242e-01);
INSERT INTO "sample" VALUES(3,0,0,7.93606557377049215418e-01);
INSERT INTO "sample" VALUES(4,0,0,8.2693989071038254135e-01);
CREATE TABLE task (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (name, hash)
) STRICT;
INSERT INTO "task" VALUES(1,'toy','d71cc224c84452b1fe19bd52510e96e8');
CREATE TABLE task_file (
  task INTEGER NOT NULL REFERENCES task,
  path TEXT NOT NULL,
  text INTEGER NOT NULL REFERENCES text,
  PRIMARY KEY (task, path)
) STRICT, WITHOUT ROWID;
INSERT INTO "task_file" VALUES(1,'toy/plain/family.json',1);
INSERT INTO "task_file" VALUES(1,'toy/plain/kernel.cu',2);
INSERT INTO "task_file" VALUES(1,'toy/reference.cu',3);
INSERT INTO "task_file" VALUES(1,'toy/task.json',4);
CREATE TABLE text (
  id      INTEGER PRIMARY KEY,
  hash    TEXT NOT NULL UNIQUE,       -- XXH3-128 of content, hex
  content TEXT NOT NULL
) STRICT;
INSERT INTO "text" VALUES(1,'ff468cc5cbc9b84d6db918944dc7b028','{
  "summary": "Each thread adds some elements",
  "requires": "sm >= 80",
  "genes": [
    {"name": "threads", "values": [32, 64, 128, 256], "doc": "threads of a CTA"},
    {"name": "items", "values": [1, 2, 4], "doc": "elements of a thread"},
    {"name": "order", "values": ["strided", "blocked"], "when": "items > 1", "doc": "which elements a thread takes"},
    {"name": "padding", "values": [0, 1, 2], "when": "items == 1", "doc": "idle iterations"},
    {"name": "wrong", "values": [false], "doc": "whether the sum is a difference"}
  ],
  "derived": [ {"name": "tile", "value": "threads * items"} ],
  "constraints": [ {"that": "tile <= 512", "why": "a tile has at most 512 elements"} ],
  "launches": [
    {"kernel": "toy", "grid": ["ceil_div(N, tile)", "1", "1"], "block": ["threads", "1", "1"], "arguments": ["a", "b", "c", "N"]}
  ]
}');
INSERT INTO "text" VALUES(2,'e17703fc083c2af08f63ef5e37c54749','extern "C" __global__ void toy(const float* a, const float* b, float* c, int N) {
  volatile int idle = 0;
  for (int i = 0; i < ${padding} * 8; ++i) idle = idle + 1;
//% for item in 0..items
//%   if order == ''strided''
  const int i${item} = blockIdx.x * ${tile} + ${item} * ${threads} + threadIdx.x;
//%   else
  const int i${item} = blockIdx.x * ${tile} + threadIdx.x * ${items} + ${item};
//%   end
  if (i${item} < N) c[i${item}] = a[i${item}] ${wrong ? ''-'' : ''+''} b[i${item}];
//% end
}
');
INSERT INTO "text" VALUES(3,'27f569aafc4f58bd20056ab1d70e79fa','extern "C" __global__ void toy_reference(const float* a, const float* b, float* c, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < N) c[i] = a[i] + b[i];
}
');
INSERT INTO "text" VALUES(4,'9b2dcff8435b33dfd1ea5fded1f2416f','{
  "summary": "c = a + b",
  "shape_parameters": ["N"],
  "specialised": [],
  "options": { "mode": ["exact", "loose"] },
  "inputs": [ { "name": "a", "dtype": "f32", "dims": ["N"] }, { "name": "b", "dtype": "f32", "dims": ["N"] } ],
  "outputs": [ { "name": "c", "dtype": "f32", "dims": ["N"] } ],
  "shapes": { "tiny": { "N": 5 }, "middle": { "N": 700 }, "large": { "N": 4000 } },
  "sets": { "cuda": { "timed": ["large"], "validated": ["tiny", "middle", "large"] },
            "vgpu": { "timed": ["middle"], "validated": ["tiny", "middle"] } },
  "seeds": 2,
  "regimes": { "normal": { "distribution": "normal" }, "peaked": { "distribution": "normal", "gain": 4 } },
  "limits": { "relative_l2": 0.0001, "cosine": 0.9999 },
  "objectives": { "latency": {}, "accurate": { "limits": { "relative_l2": 0.000001 } } },
  "floor": { "flops": "N", "bytes": "12 * N", "math": "f32" },
  "reference": { "kernel": "toy_reference", "grid": ["ceil_div(N, 128)", "1", "1"], "block": ["128", "1", "1"],
                 "arguments": ["a", "b", "c", "N"] }
}');
INSERT INTO "text" VALUES(5,'14c9ca94ba971b1a07e3650012bd2016','extern "C" __global__ void toy(const float* a, const float* b, float* c, int N) {
  volatile int idle = 0;
  for (int i = 0; i < 0 * 8; ++i) idle = idle + 1;
  const int i0 = blockIdx.x * 256 + 0 * 256 + threadIdx.x;
  if (i0 < N) c[i0] = a[i0] + b[i0];
}
');
INSERT INTO "text" VALUES(6,'55343fb48287393e47a4bb7afe21d7b8','extern "C" __global__ void toy(const float* a, const float* b, float* c, int N) {
  volatile int idle = 0;
  for (int i = 0; i < 0 * 8; ++i) idle = idle + 1;
  const int i0 = blockIdx.x * 256 + threadIdx.x * 2 + 0;
  if (i0 < N) c[i0] = a[i0] + b[i0];
  const int i1 = blockIdx.x * 256 + threadIdx.x * 2 + 1;
  if (i1 < N) c[i1] = a[i1] + b[i1];
}
');
INSERT INTO "text" VALUES(7,'96f1d8b2c299b065d2e9b166ae8b14af','extern "C" __global__ void toy(const float* a, const float* b, float* c, int N) {
  volatile int idle = 0;
  for (int i = 0; i < 0 * 8; ++i) idle = idle + 1;
  const int i0 = blockIdx.x * 32 + 0 * 32 + threadIdx.x;
  if (i0 < N) c[i0] = a[i0] + b[i0];
}
');
INSERT INTO "text" VALUES(8,'d447e43eef1f9b4a90f8cb61d4c84108','extern "C" __global__ void toy(const float* a, const float* b, float* c, int N) {
  volatile int idle = 0;
  for (int i = 0; i < 0 * 8; ++i) idle = idle + 1;
  const int i0 = blockIdx.x * 128 + threadIdx.x * 2 + 0;
  if (i0 < N) c[i0] = a[i0] + b[i0];
  const int i1 = blockIdx.x * 128 + threadIdx.x * 2 + 1;
  if (i1 < N) c[i1] = a[i1] + b[i1];
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
  throttled INTEGER NOT NULL,
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "timing" VALUES(1,0,'middle',1,0,8.08907103825136530872e-01,8.08907103825136530872e-01,8.08907103825136530872e-01,0);
INSERT INTO "timing" VALUES(2,0,'middle',1,0,8.37868852459016322242e-01,8.37868852459016322242e-01,8.37868852459016322242e-01,0);
INSERT INTO "timing" VALUES(3,0,'middle',1,0,7.93606557377049215418e-01,7.93606557377049215418e-01,7.93606557377049215418e-01,0);
INSERT INTO "timing" VALUES(4,0,'middle',1,0,8.2693989071038254135e-01,8.2693989071038254135e-01,8.2693989071038254135e-01,0);
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
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('run',1);
INSERT INTO "sqlite_sequence" VALUES('candidate',4);
INSERT INTO "sqlite_sequence" VALUES('elite_history',4);
COMMIT;
