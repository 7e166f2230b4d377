-- Ports that went down while jobs ran, by switch and month. A process that uses the port tells of it, so that several tell of one time.
WITH told AS (
  SELECT DISTINCT host, device, port, date_trunc('minute', ts) AS minute FROM events WHERE ev = 'port.event' AND cause = 'ASYNC-PORT'
)
SELECT date_trunc('month', minute) AS month, coalesce(switch, 'not known') AS switch, host, device, port, count(*) AS times
FROM told LEFT JOIN cables USING (host, device, port)
GROUP BY ALL ORDER BY times DESC, month, host, device;
