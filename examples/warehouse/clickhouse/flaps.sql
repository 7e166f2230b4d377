-- Ports that went down while jobs ran, by switch and month. A process that uses the port tells of it, so that several tell of one time.
WITH told AS (
  SELECT DISTINCT host, device, port, toStartOfMinute(ts) AS minute FROM events WHERE ev = 'port.event' AND cause = 'ASYNC-PORT'
)
SELECT toStartOfMonth(minute) AS month, if(cables.switch = '', 'not known', cables.switch) AS switch, told.host AS host, told.device AS device, told.port AS port,
       count() AS times
FROM told LEFT JOIN cables ON told.host = cables.host AND told.device = cables.device AND told.port = cables.port
GROUP BY month, switch, host, device, port ORDER BY times DESC, month, host, device
