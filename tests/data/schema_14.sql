-- A database of schema 14, as evo 0.2.0 left it: six candidates of a task in ten lines, one of them an elite, three of
-- them duplicates; a sitting with two rivals.
PRAGMA application_id = 1702260529;
PRAGMA user_version = 14;
BEGIN TRANSACTION;
CREATE TABLE text (
  id      INTEGER PRIMARY KEY,
  hash    TEXT NOT NULL UNIQUE,       -- XXH3-128 of content, hex
  content TEXT NOT NULL
) STRICT;
INSERT INTO text VALUES(1,'8083027681bda334d4746685d44893ac',replace('//% # k_plain of k.cu.\n#define MODE 0\n//% include "k/source/k.cu"\n','\n',char(10)));
INSERT INTO text VALUES(2,'125d4e42fd96444dac31e6d2de1dc427',replace('extern "C" __global__ void k_plain(float* y, const float* x, int n) {\n  for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i];\n}\nextern "C" __global__ void k(float* y, const float* x, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i + (MODE % 3 == 2 ? n : 0)] = (MODE % 3 == 1 ? 3.0f : 2.0f) * x[i];\n}\n','\n',char(10)));
INSERT INTO text VALUES(3,'57584ff5b67cf4d33339d91e6e61f2d0',replace('{\n  "shape_parameters": ["N"],\n  "inputs": [{"name": "x", "dtype": "f32", "dims": ["N"]}],\n  "outputs": [{"name": "y", "dtype": "f32", "dims": ["N"]}],\n  "shapes": {"256": {"N": 256}},\n  "reference": {\n    "kernel": "k_plain",\n    "grid": ["ceil_div(N, 64)", "1", "1"],\n    "block": ["64", "1", "1"],\n    "arguments": ["y", "x", "int:N"]\n  }\n}\n','\n',char(10)));
INSERT INTO text VALUES(4,'5e2ab0c3cc522a4a8e1382779a6f5057',replace('{\n  "summary": "k of k.cu",\n  "genes": [{"name": "MODE", "values": [0, 1, 2, 3, 4, 5]}],\n  "constraints": [{"that": "(64) <= threads_per_block", "why": "a block has at most that many threads"}],\n  "launches": [\n    {\n      "kernel": "k",\n      "grid": ["ceil_div(N, 64)", "1", "1"],\n      "block": ["64", "1", "1"],\n      "arguments": ["y", "x", "int:N"]\n    }\n  ]\n}\n','\n',char(10)));
INSERT INTO text VALUES(5,'da607eba0ab39404f93842c68d2f1edb',replace('//% # The genes are macros of k.cu, which is as its author wrote it.\n#define MODE ${MODE}\n//% include "k/source/k.cu"\n','\n',char(10)));
INSERT INTO text VALUES(6,'46cf853584a7412a3f9169638e4b6311',replace('#define MODE 3\nextern "C" __global__ void k_plain(float* y, const float* x, int n) {\n  for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i];\n}\nextern "C" __global__ void k(float* y, const float* x, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i + (MODE % 3 == 2 ? n : 0)] = (MODE % 3 == 1 ? 3.0f : 2.0f) * x[i];\n}\n','\n',char(10)));
INSERT INTO text VALUES(7,'92b7adb7c7c6d380861a2c120c366df9',replace('#define MODE 0\nextern "C" __global__ void k_plain(float* y, const float* x, int n) {\n  for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i];\n}\nextern "C" __global__ void k(float* y, const float* x, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i + (MODE % 3 == 2 ? n : 0)] = (MODE % 3 == 1 ? 3.0f : 2.0f) * x[i];\n}\n','\n',char(10)));
INSERT INTO text VALUES(8,'041a1eca72bba866a564110cddf3063b',replace('#define MODE 5\nextern "C" __global__ void k_plain(float* y, const float* x, int n) {\n  for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i];\n}\nextern "C" __global__ void k(float* y, const float* x, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i + (MODE % 3 == 2 ? n : 0)] = (MODE % 3 == 1 ? 3.0f : 2.0f) * x[i];\n}\n','\n',char(10)));
INSERT INTO text VALUES(9,'0f6b2c1e5a9a3df553d59df280520038',replace('#define MODE 4\nextern "C" __global__ void k_plain(float* y, const float* x, int n) {\n  for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i];\n}\nextern "C" __global__ void k(float* y, const float* x, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i + (MODE % 3 == 2 ? n : 0)] = (MODE % 3 == 1 ? 3.0f : 2.0f) * x[i];\n}\n','\n',char(10)));
INSERT INTO text VALUES(10,'a9c2a8219dbf1721368eccf1c08e3f81',replace('#define MODE 1\nextern "C" __global__ void k_plain(float* y, const float* x, int n) {\n  for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i];\n}\nextern "C" __global__ void k(float* y, const float* x, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i + (MODE % 3 == 2 ? n : 0)] = (MODE % 3 == 1 ? 3.0f : 2.0f) * x[i];\n}\n','\n',char(10)));
INSERT INTO text VALUES(11,'6e03c53700cb1f68c973cb2af706c3ff',replace('#define MODE 2\nextern "C" __global__ void k_plain(float* y, const float* x, int n) {\n  for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i];\n}\nextern "C" __global__ void k(float* y, const float* x, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i + (MODE % 3 == 2 ? n : 0)] = (MODE % 3 == 1 ? 3.0f : 2.0f) * x[i];\n}\n','\n',char(10)));
CREATE TABLE task (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (name, hash)
) STRICT;
INSERT INTO task VALUES(1,'k','6bb09f59f4c6d216db456cb34699099d');
CREATE TABLE task_file (
  task INTEGER NOT NULL REFERENCES task,
  path TEXT NOT NULL,
  text INTEGER NOT NULL REFERENCES text,
  PRIMARY KEY (task, path)
) STRICT, WITHOUT ROWID;
INSERT INTO task_file VALUES(1,'k/reference.cu',1);
INSERT INTO task_file VALUES(1,'k/source/k.cu',2);
INSERT INTO task_file VALUES(1,'k/task.json',3);
INSERT INTO task_file VALUES(1,'k/tuned/family.json',4);
INSERT INTO task_file VALUES(1,'k/tuned/kernel.cu',5);
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
INSERT INTO device VALUES(1,'vgpu NVIDIA H200 (virtual) sm_90a','vgpu:h200','vgpu','NVIDIA H200 (virtual)','sm_90a','','','{"registers_per_sm":65536,"sm":90,"sm_count":132,"smem_per_block":232448,"smem_per_sm":233472,"threads_per_block":1024,"wgmma":true}');
CREATE TABLE board (
  id         INTEGER PRIMARY KEY,
  task       INTEGER NOT NULL REFERENCES task,
  device_key TEXT NOT NULL,
  objective  TEXT NOT NULL,
  UNIQUE (task, device_key, objective)
) STRICT;
INSERT INTO board VALUES(1,1,'vgpu NVIDIA H200 (virtual) sm_90a','latency 256');
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
INSERT INTO run VALUES(1,1,1,'{"objective":"latency","options":{},"timed":[{"name":"256","parameters":{"N":256}}],"validated":[{"name":"256","parameters":{"N":256}}]}','','evolve',7,6798754210089519448,6,0.0,4,'evo tune k.json --device vgpu --evals 6 --seed 7 --quiet --db old.db','0.2.0','13.0','finished','2026-11-29T14:51:31.065Z','2026-11-29T14:51:31.888Z','[]',1,'asked');
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
INSERT INTO candidate VALUES(1,1,0,'random','tuned','{"family":"tuned","genes":{"MODE":3}}','07a52a59f08e6315cd0885bee1906854','2026-11-29T14:51:31.436Z','');
INSERT INTO candidate VALUES(2,1,1,'random','tuned','{"family":"tuned","genes":{"MODE":0}}','a47435a57782bcbd5abef73c66dbf9de','2026-11-29T14:51:31.437Z','');
INSERT INTO candidate VALUES(3,1,2,'random','tuned','{"family":"tuned","genes":{"MODE":5}}','17c2a4bc0b680abd59c8a70033245656','2026-11-29T14:51:31.616Z','');
INSERT INTO candidate VALUES(4,1,3,'random','tuned','{"family":"tuned","genes":{"MODE":4}}','f546c4d14e0a977b1421dfb8c58f3aa3','2026-11-29T14:51:31.670Z','');
INSERT INTO candidate VALUES(5,1,4,'random','tuned','{"family":"tuned","genes":{"MODE":1}}','9cec67cbff968cda4325c2d4cd7618ad','2026-11-29T14:51:31.888Z','');
INSERT INTO candidate VALUES(6,1,5,'random','tuned','{"family":"tuned","genes":{"MODE":2}}','af0a061e4351a135430ff4bf5c157e56','2026-11-29T14:51:31.888Z','');
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
INSERT INTO program VALUES(1,0,'{}',6,'5905f52b363292516ddbba808154af62',0);
INSERT INTO program VALUES(2,0,'{}',7,'ab44ca2dc5bb7bc87c69953986f2e8a8',0);
INSERT INTO program VALUES(3,0,'{}',8,'2cb2974f753a184aa4c666ac65755ddf',0);
INSERT INTO program VALUES(4,0,'{}',9,'dc21ca9d074bc855a99a0a239df8bd28',0);
INSERT INTO program VALUES(5,0,'{}',10,'51b6aebb7603513c1da29446378bdc20',0);
INSERT INTO program VALUES(6,0,'{}',11,'b6e80a6df1201de81d6ab4b1e603ee07',0);
CREATE TABLE build (
  candidate         INTEGER NOT NULL REFERENCES candidate,
  position          INTEGER NOT NULL,
  specialisation    TEXT NOT NULL,
  arch              TEXT NOT NULL,
  cubin_hash        TEXT NOT NULL,
  log               TEXT NOT NULL,
  compile_ms        REAL, flags TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;
INSERT INTO build VALUES(1,0,'','sm_90a','353741850ca62b88bd14028c5f701eb7',replace('ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function ''k'' for ''sm_90a''\nptxas info    : Function properties for k\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 10 registers, used 0 barriers\nptxas info    : Compiling entry function ''k_plain'' for ''sm_90a''\nptxas info    : Function properties for k_plain\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 16 registers, used 0 barriers\n','\n',char(10)),327.88076999999998407,'--gpu-architecture=sm_90a --std=c++17 --generate-line-info --ptxas-options=-v');
INSERT INTO build VALUES(2,0,'','sm_90a','353741850ca62b88bd14028c5f701eb7',replace('ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function ''k'' for ''sm_90a''\nptxas info    : Function properties for k\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 10 registers, used 0 barriers\nptxas info    : Compiling entry function ''k_plain'' for ''sm_90a''\nptxas info    : Function properties for k_plain\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 16 registers, used 0 barriers\n','\n',char(10)),296.45237500000001774,'--gpu-architecture=sm_90a --std=c++17 --generate-line-info --ptxas-options=-v');
INSERT INTO build VALUES(3,0,'','sm_90a','b9fd2399c1d9c1331ea74b2d27676e3b',replace('ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function ''k'' for ''sm_90a''\nptxas info    : Function properties for k\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 10 registers, used 0 barriers\nptxas info    : Compiling entry function ''k_plain'' for ''sm_90a''\nptxas info    : Function properties for k_plain\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 16 registers, used 0 barriers\n','\n',char(10)),223.63554899999999747,'--gpu-architecture=sm_90a --std=c++17 --generate-line-info --ptxas-options=-v');
INSERT INTO build VALUES(4,0,'','sm_90a','398a59dbe271321a8022e796e0c97110',replace('ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function ''k'' for ''sm_90a''\nptxas info    : Function properties for k\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 10 registers, used 0 barriers\nptxas info    : Compiling entry function ''k_plain'' for ''sm_90a''\nptxas info    : Function properties for k_plain\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 16 registers, used 0 barriers\n','\n',char(10)),245.64476600000000416,'--gpu-architecture=sm_90a --std=c++17 --generate-line-info --ptxas-options=-v');
INSERT INTO build VALUES(5,0,'','sm_90a','398a59dbe271321a8022e796e0c97110',replace('ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function ''k'' for ''sm_90a''\nptxas info    : Function properties for k\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 10 registers, used 0 barriers\nptxas info    : Compiling entry function ''k_plain'' for ''sm_90a''\nptxas info    : Function properties for k_plain\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 16 registers, used 0 barriers\n','\n',char(10)),255.55333500000000411,'--gpu-architecture=sm_90a --std=c++17 --generate-line-info --ptxas-options=-v');
INSERT INTO build VALUES(6,0,'','sm_90a','b9fd2399c1d9c1331ea74b2d27676e3b',replace('ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function ''k'' for ''sm_90a''\nptxas info    : Function properties for k\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 10 registers, used 0 barriers\nptxas info    : Compiling entry function ''k_plain'' for ''sm_90a''\nptxas info    : Function properties for k_plain\nptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 16 registers, used 0 barriers\n','\n',char(10)),219.7773559999999975,'--gpu-architecture=sm_90a --std=c++17 --generate-line-info --ptxas-options=-v');
CREATE TABLE evaluation (
  candidate         INTEGER PRIMARY KEY REFERENCES candidate,
  verdict           TEXT NOT NULL,
  reason            TEXT NOT NULL,
  latency_us        REAL,
  worst_relative_l2 REAL,
  notes           TEXT NOT NULL,
  salt              INTEGER NOT NULL
, waiting_s REAL NOT NULL DEFAULT 0, validation_s REAL NOT NULL DEFAULT 0, timing_s REAL NOT NULL DEFAULT 0, device TEXT NOT NULL DEFAULT '', uuid TEXT NOT NULL DEFAULT '', host TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO evaluation VALUES(1,'valid','',0.78322404371584697369,0.0,'',6798754210089519448,0.33406712700000001925,0.032135399000000001989,0.00024900200000000001238,'vgpu:h200','','node1');
INSERT INTO evaluation VALUES(2,'duplicate','same cubin as proposal 0: valid',0.78322404371584697369,0.0,'',6798754210089519448,0.0,0.0,0.0,'vgpu:h200','','node1');
INSERT INTO evaluation VALUES(3,'crashed','shape 256, regime normal, seed 0: kernel k, k/source/k.cu:6, block (0, 0, 0), thread (0, 0, 0): st.global.f32: writes 4 bytes at 0x7f0000200c00, 0 bytes behind the end of ''y'' (0x7f0000200800, 1024 bytes)',0.0,0.0,'',6798754210089519448,0.17542616599999999449,0.0044169480000000004016,0.0,'vgpu:h200','','node1');
INSERT INTO evaluation VALUES(4,'wrong_answer','',0.0,0.50000000053423732104,'',6798754210089519448,0.031580642999999998521,0.016354772999999999533,0.0,'vgpu:h200','','node1');
INSERT INTO evaluation VALUES(5,'duplicate','same cubin as proposal 3: wrong_answer',0.0,0.50000000053423732104,'',6798754210089519448,0.0,0.0,0.0,'vgpu:h200','','node1');
INSERT INTO evaluation VALUES(6,'duplicate','same cubin as proposal 2: crashed, shape 256, regime normal, seed 0: kernel k, k/source/k.cu:6, block (0, 0, 0), thread (0, 0, 0): st.global.f32: writes 4 bytes at 0x7f0000200c00, 0 bytes behind the end of ''y'' (0x7f0000200800, 1024 bytes)',0.0,0.0,'',6798754210089519448,0.0,0.0,0.0,'vgpu:h200','','node1');
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
INSERT INTO case_error VALUES(1,0,'256',0,'normal','y',0.0,0.0,1.000000000000000222);
INSERT INTO case_error VALUES(1,1,'256',2,'normal','y',0.0,0.0,1.0);
INSERT INTO case_error VALUES(1,2,'256',2,'large','y',0.0,0.0,1.000000000000000222);
INSERT INTO case_error VALUES(1,3,'256',0,'sparse','y',0.0,0.0,1.000000000000000222);
INSERT INTO case_error VALUES(1,4,'256',2,'sparse','y',0.0,0.0,0.99999999999999988897);
INSERT INTO case_error VALUES(1,5,'256',1,'constant_rows','y',0.0,0.0,1.0);
INSERT INTO case_error VALUES(1,6,'256',1,'sparse','y',0.0,0.0,1.000000000000000222);
INSERT INTO case_error VALUES(1,7,'256',2,'constant_rows','y',0.0,0.0,1.0);
INSERT INTO case_error VALUES(1,8,'256',1,'large','y',0.0,0.0,1.000000000000000222);
INSERT INTO case_error VALUES(1,9,'256',0,'constant_rows','y',0.0,0.0,1.0);
INSERT INTO case_error VALUES(1,10,'256',0,'outliers','y',0.0,0.0,1.0);
INSERT INTO case_error VALUES(1,11,'256',1,'outliers','y',0.0,0.0,1.000000000000000222);
INSERT INTO case_error VALUES(1,12,'256',1,'normal','y',0.0,0.0,1.0);
INSERT INTO case_error VALUES(1,13,'256',0,'large','y',0.0,0.0,1.0);
INSERT INTO case_error VALUES(1,14,'256',2,'outliers','y',0.0,0.0,0.99999999999999988897);
INSERT INTO case_error VALUES(4,0,'256',0,'normal','y',0.50000000053423732104,3.1962933540344238281,0.99999999999999955591);
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
INSERT INTO timing VALUES(1,0,'256',1,0,0.78322404371584697369,0.78322404371584697369,0.78322404371584697369,0,0,0,0,0,0,0);
INSERT INTO timing VALUES(2,0,'256',1,0,0.78322404371584697369,0.78322404371584697369,0.78322404371584697369,0,0,0,0,0,0,0);
CREATE TABLE sample (
  candidate INTEGER NOT NULL,
  timing    INTEGER NOT NULL,
  position  INTEGER NOT NULL,
  us        REAL,
  PRIMARY KEY (candidate, timing, position),
  FOREIGN KEY (candidate, timing) REFERENCES timing
) STRICT, WITHOUT ROWID;
INSERT INTO sample VALUES(1,0,0,0.78322404371584697369);
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
INSERT INTO elite VALUES(1,1,0.78322404371584697369,'07a52a59f08e6315cd0885bee1906854','cbbf4d70fa798e1cf9aacfad8ee7d26c','2026-11-29T14:51:31.436Z');
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
INSERT INTO elite_history VALUES(1,1,1,0.78322404371584697369,NULL,NULL,'2026-11-29T14:51:31.436Z');
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
CREATE TABLE candidate_file (
  candidate INTEGER NOT NULL REFERENCES candidate,
  path      TEXT NOT NULL,
  text      INTEGER NOT NULL REFERENCES text,
  PRIMARY KEY (candidate, path)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE run_device (
  run      INTEGER NOT NULL REFERENCES run,
  position INTEGER NOT NULL,          -- from 1
  device   INTEGER NOT NULL REFERENCES device,
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE note (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  candidate INTEGER NOT NULL REFERENCES candidate,
  at        TEXT NOT NULL,
  content   TEXT NOT NULL
) STRICT;
INSERT INTO note VALUES(1,1,'2026-11-29T14:51:41.671Z','Twice.');
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
INSERT INTO sitting VALUES(1,1,1,'2026-11-29T14:51:41.581Z',2278956993773191642,'0.2.0',0.78322404371584697369,0);
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
INSERT INTO rival VALUES(1,1,'fast','fake 1.0','','valid','',0.0,0.69999999999999995559,0.89374171492360288127,0.89374171492360288127,0.89374171492360288127);
INSERT INTO rival VALUES(1,2,'refuses','fake 1.0','','unsupported','no kernel for this size',NULL,NULL,0.0,0.0,0.0);
CREATE TABLE turn (
  sitting  INTEGER NOT NULL REFERENCES sitting,
  position INTEGER NOT NULL,
  round    INTEGER NOT NULL,
  us       REAL NOT NULL,
  PRIMARY KEY (sitting, position, round)
) STRICT, WITHOUT ROWID;
INSERT INTO turn VALUES(1,0,0,0.78322404371584697369);
INSERT INTO turn VALUES(1,1,0,0.69999999999999995559);
CREATE TABLE late_prediction (
  run    INTEGER NOT NULL REFERENCES run,
  choice INTEGER NOT NULL,            -- of what is evaluated next, from 0
  genome INTEGER NOT NULL,            -- as the search counts those that it has asked a prediction of
  ticket INTEGER NOT NULL,            -- of the proposal that was chosen next
  PRIMARY KEY (run, choice, genome)
) STRICT, WITHOUT ROWID;
CREATE TABLE build_kernel (
  candidate         INTEGER NOT NULL,
  build             INTEGER NOT NULL,
  kernel            TEXT NOT NULL,    -- its name in PTX
  registers         INTEGER NOT NULL,
  spill_bytes       INTEGER NOT NULL,
  stack_bytes       INTEGER NOT NULL,
  static_smem_bytes INTEGER NOT NULL,
  launched          INTEGER NOT NULL CHECK (launched IN (0, 1)),
  warning           TEXT NOT NULL,    -- of ptxas, that it loses performance
  PRIMARY KEY (candidate, build, kernel),
  FOREIGN KEY (candidate, build) REFERENCES build
) STRICT, WITHOUT ROWID;
INSERT INTO build_kernel VALUES(1,0,'k',10,0,0,0,1,'');
INSERT INTO build_kernel VALUES(1,0,'k_plain',16,0,0,0,0,'');
INSERT INTO build_kernel VALUES(2,0,'k',10,0,0,0,1,'');
INSERT INTO build_kernel VALUES(2,0,'k_plain',16,0,0,0,0,'');
INSERT INTO build_kernel VALUES(3,0,'k',10,0,0,0,1,'');
INSERT INTO build_kernel VALUES(3,0,'k_plain',16,0,0,0,0,'');
INSERT INTO build_kernel VALUES(4,0,'k',10,0,0,0,1,'');
INSERT INTO build_kernel VALUES(4,0,'k_plain',16,0,0,0,0,'');
INSERT INTO build_kernel VALUES(5,0,'k',10,0,0,0,1,'');
INSERT INTO build_kernel VALUES(5,0,'k_plain',16,0,0,0,0,'');
INSERT INTO build_kernel VALUES(6,0,'k',10,0,0,0,1,'');
INSERT INTO build_kernel VALUES(6,0,'k_plain',16,0,0,0,0,'');
CREATE TABLE residency (
  candidate  INTEGER NOT NULL REFERENCES candidate,
  position   INTEGER NOT NULL,
  kernel     TEXT NOT NULL,
  registers  INTEGER NOT NULL,
  smem_bytes INTEGER NOT NULL,
  blocks     INTEGER NOT NULL,
  PRIMARY KEY (candidate, position)
) STRICT, WITHOUT ROWID;
INSERT INTO residency VALUES(1,0,'k',10,0,32);
INSERT INTO residency VALUES(2,0,'k',10,0,32);
INSERT INTO residency VALUES(3,0,'k',10,0,32);
INSERT INTO residency VALUES(4,0,'k',10,0,32);
INSERT INTO residency VALUES(5,0,'k',10,0,32);
INSERT INTO residency VALUES(6,0,'k',10,0,32);
CREATE TABLE mismatch (
  candidate      INTEGER PRIMARY KEY REFERENCES candidate,
  shape          TEXT NOT NULL,
  regime         TEXT NOT NULL,
  seed           INTEGER NOT NULL,
  output         TEXT NOT NULL,
  kind           TEXT NOT NULL,       -- the limit that it breaks
  error          REAL,
  allowed        REAL,                -- the limit
  elements       INTEGER NOT NULL,    -- how many break it
  first          INTEGER NOT NULL,    -- the index of the first of them
  got            TEXT NOT NULL,
  reference      TEXT NOT NULL,
  atol           REAL,
  rtol           REAL,
  found          TEXT NOT NULL,       -- when
  emulation_l2   REAL,                -- NULL: the limits do not follow an emulation
  emulation_row  REAL,
  draws          INTEGER NOT NULL,    -- of which these are the means
  mean_l2        REAL,
  mean_l2_limit  REAL,
  mean_row       REAL,
  mean_row_limit REAL,
  looks_like     TEXT NOT NULL
) STRICT;
INSERT INTO mismatch VALUES(4,'256','normal',0,'y','relative_l2',0.50000000053423732104,2.0000000000000001634e-05,0,0,'','',0.0,0.0,'on_grid',NULL,NULL,0,0.0,0.0,0.0,0.0,'values are 1.5 times what is wanted; 100.0 % of the elements over tolerance; worst at N 129: got -9.589, reference -6.393');
INSERT INTO mismatch VALUES(5,'256','normal',0,'y','relative_l2',0.50000000053423732104,2.0000000000000001634e-05,0,0,'','',0.0,0.0,'on_grid',NULL,NULL,0,0.0,0.0,0.0,0.0,'values are 1.5 times what is wanted; 100.0 % of the elements over tolerance; worst at N 129: got -9.589, reference -6.393');
CREATE TABLE elite_comparison (
  candidate  INTEGER PRIMARY KEY REFERENCES candidate,
  elite      INTEGER NOT NULL,        -- 0: it is not in this database
  standing   TEXT NOT NULL,
  ratio      REAL,                    -- of the challenger's latency to the elite's
  ratio_low  REAL,
  ratio_high REAL,
  rounds     INTEGER NOT NULL,
  failure    TEXT NOT NULL
) STRICT;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('run',1);
INSERT INTO sqlite_sequence VALUES('candidate',6);
INSERT INTO sqlite_sequence VALUES('elite_history',1);
INSERT INTO sqlite_sequence VALUES('note',1);
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
CREATE VIEW elites AS
SELECT row_number() OVER (PARTITION BY elite.board ORDER BY elite.latency_us, elite.candidate) AS rank,
       task.name AS task, device.name AS device, device.arch, device.kind, board.objective,
       elite.candidate, elite.latency_us, evaluation.worst_relative_l2 AS relative_error,
       (SELECT max(registers) FROM build_kernel AS kernel
        WHERE kernel.candidate = elite.candidate AND launched) AS registers,
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
COMMIT;
