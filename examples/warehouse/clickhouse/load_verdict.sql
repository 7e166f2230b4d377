-- What report says of it:
--   nccl-net-diag report --json logs/4711 | clickhouse-client --param_job=4711 --query "$(cat load_verdict.sql)"
INSERT INTO verdicts
SELECT {job:String}, fromUnixTimestamp64Micro(intDiv(JSONExtractInt(line, 'first_ns'), 1000), 'UTC'), fromUnixTimestamp64Micro(intDiv(JSONExtractInt(line, 'last_ns'), 1000), 'UTC'),
       JSONLength(line, 'processes'), JSONExtractString(line, 'kind'), JSONExtractString(line, 'blame'), JSONExtractString(line, 'cause'),
       JSONExtractString(line, 'culprits', 1, 'place', 'host'), JSONExtractString(line, 'culprits', 1, 'place', 'device'), JSONExtractString(line, 'verdict')
FROM input('line String')
FORMAT JSONAsString
