-- The rails (HCAs of one name) that jobs failed of in the 30 days before the last job, the worst first.
SELECT device, count(*) AS jobs, count(DISTINCT host) AS nodes, list(DISTINCT cause ORDER BY cause) AS causes
FROM verdicts
WHERE blame = 'network' AND device IS NOT NULL AND ended > (SELECT max(ended) FROM verdicts) - INTERVAL 30 DAY
GROUP BY device ORDER BY jobs DESC, device;
