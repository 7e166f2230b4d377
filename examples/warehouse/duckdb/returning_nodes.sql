-- Nodes that jobs failed of more than once: they were given back, and came back.
SELECT host, count(*) AS jobs, min(ended)::DATE AS first, max(ended)::DATE AS last, list(DISTINCT device ORDER BY device) AS devices,
       list(DISTINCT cause ORDER BY cause) AS causes
FROM verdicts WHERE blame = 'network' AND host IS NOT NULL
GROUP BY host HAVING count(*) > 1 ORDER BY jobs DESC, host;
