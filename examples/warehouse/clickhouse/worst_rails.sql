-- The rails (HCAs of one name) that jobs failed of in the 30 days before the last job, the worst first.
SELECT device, count() AS jobs, uniqExact(host) AS nodes, arraySort(groupUniqArray(cause)) AS causes
FROM verdicts
WHERE blame = 'network' AND device != '' AND ended > (SELECT max(ended) FROM verdicts) - INTERVAL 30 DAY
GROUP BY device ORDER BY jobs DESC, device
