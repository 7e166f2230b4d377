-- The same two tables as in ../duckdb, for ClickHouse. Lines older than a year go.
CREATE TABLE IF NOT EXISTS events (
  job String, ts DateTime64(9, 'UTC'), host LowCardinality(String), pid UInt32, proc String, seq UInt64,
  ev LowCardinality(String), sev LowCardinality(String), cause LowCardinality(String), rank Int32, device LowCardinality(String), port UInt8,
  peer_host LowCardinality(String), peer_rank Int32,
  line String CODEC(ZSTD(3)) -- as it was written
) ENGINE = MergeTree PARTITION BY toYYYYMM(ts) ORDER BY (job, host, pid, proc, seq) TTL toDateTime(ts) + INTERVAL 1 YEAR;
-- What ../ship delivers, and load_events.sql: raw lines, with the file that each was in. The job is the directory's name. A line that is
-- cut off is left out.
CREATE TABLE IF NOT EXISTS shipped (file String, line String) ENGINE = Null;
CREATE MATERIALIZED VIEW IF NOT EXISTS shipped_events TO events AS
SELECT extract(file, '([^/]+)/[^/]+$') AS job, parseDateTime64BestEffort(JSONExtractString(line, 'ts'), 9, 'UTC') AS ts,
       JSONExtractString(line, 'host') AS host, JSONExtractUInt(line, 'pid') AS pid, JSONExtractString(line, 'proc') AS proc,
       JSONExtractUInt(line, 'seq') AS seq, JSONExtractString(line, 'ev') AS ev, JSONExtractString(line, 'sev') AS sev,
       JSONExtractString(line, 'cause') AS cause, if(JSONHas(line, 'rank'), JSONExtractInt(line, 'rank'), -1) AS rank,
       JSONExtractString(line, 'dev', 'name') AS device, JSONExtractUInt(line, 'dev', 'port') AS port,
       JSONExtractString(line, 'peer', 'host') AS peer_host, if(JSONHas(line, 'peer', 'rank'), JSONExtractInt(line, 'peer', 'rank'), -1) AS peer_rank,
       line
FROM shipped WHERE isValidJSON(line) AND JSONHas(line, 'ev');
CREATE TABLE IF NOT EXISTS verdicts (
  job String, began DateTime64(6, 'UTC'), ended DateTime64(6, 'UTC'), processes UInt32,
  kind LowCardinality(String), blame LowCardinality(String), cause LowCardinality(String), host LowCardinality(String), device LowCardinality(String),
  verdict String
) ENGINE = MergeTree ORDER BY (ended, job);
CREATE TABLE IF NOT EXISTS cables (host String, device String, port UInt8, switch String, switch_port String) ENGINE = MergeTree ORDER BY (host, device, port);
