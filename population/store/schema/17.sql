-- A candidate's cubins and launch plans as one hash (binary_hash_of); NULL: unknown. Elites alone had one: a challenger
-- that waited while its run stood still, or the successor of a retracted elite, could be an elite's kernel once more.
ALTER TABLE candidate ADD COLUMN binary_hash TEXT;

UPDATE candidate SET binary_hash = (SELECT elite.binary_hash FROM elite WHERE elite.candidate = candidate.id);

-- A run may keep the front of latency over error, name the latency that ends it, and end itself.
ALTER TABLE run ADD COLUMN keeps_front INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN until TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN until_us REAL;
ALTER TABLE run ADD COLUMN settles INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN settled_until INTEGER NOT NULL DEFAULT 0;

-- The fronts of the boards that have such a run: the fastest candidate, and each time the fastest of those that err by
-- 5 % less than the one before.
CREATE VIEW front AS
WITH RECURSIVE
point AS (
  SELECT run.board, candidate.id, latency_us, worst_relative_l2 AS error
  FROM run JOIN candidate ON candidate.run = run.id JOIN evaluation ON evaluation.candidate = candidate.id
  WHERE verdict = 'valid' AND run.board IN (SELECT board FROM run WHERE keeps_front)
  AND EXISTS (SELECT 1 FROM program WHERE program.candidate = candidate.id)
),
step (board, rank, candidate) AS (
  SELECT id, 1, (SELECT id FROM point WHERE point.board = board.id ORDER BY latency_us, error, id LIMIT 1)
  FROM board WHERE id IN (SELECT board FROM point)
  UNION ALL
  SELECT board, rank + 1,
         (SELECT id FROM point WHERE point.board = step.board
          AND error * 1.05 < (SELECT worst_relative_l2 FROM evaluation WHERE evaluation.candidate = step.candidate)
          ORDER BY latency_us, error, id LIMIT 1)
  FROM step WHERE step.candidate IS NOT NULL
)
SELECT rank, task.name AS task, device.name AS device, device.arch, device.kind, board.objective,
       step.candidate, evaluation.latency_us, worst_relative_l2 AS relative_error, candidate.family, candidate.genome,
       candidate.run, candidate.recorded_at AS since, task.hash AS task_hash, step.board
FROM step
JOIN board ON board.id = step.board
JOIN task ON task.id = board.task
JOIN candidate ON candidate.id = step.candidate
JOIN evaluation ON evaluation.candidate = step.candidate
JOIN run ON run.id = candidate.run
JOIN device ON device.number = run.device
ORDER BY task.name, step.board, rank;
