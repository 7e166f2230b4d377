-- A job's event logs:
--   cat logs/4711/*.jsonl | clickhouse-client --param_job=4711 --query "$(cat load_events.sql)"
INSERT INTO shipped SELECT concat({job:String}, '/-'), line FROM input('line String') FORMAT LineAsString
