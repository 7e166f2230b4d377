-- A job's event logs and the verdict of them:
--   SET VARIABLE job = '4711'; SET VARIABLE logs = 'logs/4711/**/*.jsonl'; SET VARIABLE verdict = 'logs/4711/verdict.json';
-- verdict.json is what `nccl-net-diag report --json` printed. A line that is cut off is left out.
INSERT INTO events
SELECT getvariable('job'), (json->>'$.ts')::TIMESTAMPTZ, json->>'$.host', (json->>'$.pid')::BIGINT, json->>'$.proc', (json->>'$.seq')::UBIGINT,
       json->>'$.ev', json->>'$.sev', json->>'$.cause', (json->>'$.rank')::INTEGER, json->>'$.dev.name', (json->>'$.dev.port')::INTEGER,
       json->>'$.peer.host', (json->>'$.peer.rank')::INTEGER, json::VARCHAR
FROM read_ndjson_objects(getvariable('logs'), ignore_errors = true)
WHERE json->>'$.ev' IS NOT NULL;

INSERT INTO verdicts
SELECT getvariable('job'), make_timestamptz((json->>'$.first_ns')::BIGINT // 1000), make_timestamptz((json->>'$.last_ns')::BIGINT // 1000),
       json_array_length(json, '$.processes'), json->>'$.kind', json->>'$.blame', json->>'$.cause',
       json->>'$.culprits[0].place.host', json->>'$.culprits[0].place.device', json->>'$.verdict'
FROM read_json_objects(getvariable('verdict'));
