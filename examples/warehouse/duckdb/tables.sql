-- Two tables for a year of jobs: every event line, and report's verdict of each job.
CREATE TABLE IF NOT EXISTS events (
  job VARCHAR, ts TIMESTAMPTZ, host VARCHAR, pid BIGINT, proc VARCHAR, seq UBIGINT,
  ev VARCHAR, sev VARCHAR, cause VARCHAR, rank INTEGER, device VARCHAR, port INTEGER, peer_host VARCHAR, peer_rank INTEGER,
  line VARCHAR -- as it was written
);
CREATE TABLE IF NOT EXISTS verdicts (
  job VARCHAR, began TIMESTAMPTZ, ended TIMESTAMPTZ, processes INTEGER,
  kind VARCHAR, blame VARCHAR, cause VARCHAR, host VARCHAR, device VARCHAR, -- of the first culprit, where there is one
  verdict VARCHAR
);
-- Which switch a port is cabled to. The site fills it, from LLDP or its inventory; flaps.sql does without.
CREATE TABLE IF NOT EXISTS cables (host VARCHAR, device VARCHAR, port INTEGER, switch VARCHAR, switch_port VARCHAR);
