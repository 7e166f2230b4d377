-- The lines of one job as they were, for `nccl-net-diag report job.jsonl`:
--   SET VARIABLE job = '4711';
COPY (SELECT line FROM events WHERE job = getvariable('job') ORDER BY host, pid, proc, seq)
TO 'job.jsonl' (FORMAT csv, HEADER false, DELIMITER '', QUOTE '', ESCAPE '');
