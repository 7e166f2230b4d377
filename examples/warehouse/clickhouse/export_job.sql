-- The lines of one job as they were:
--   clickhouse-client --param_job=4711 --query "$(cat export_job.sql)" | nccl-net-diag report -
SELECT line FROM events WHERE job = {job:String} ORDER BY host, pid, proc, seq FORMAT TSVRaw
