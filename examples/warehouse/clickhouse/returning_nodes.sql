-- Nodes that jobs failed of more than once: they were given back, and came back.
SELECT host, count() AS jobs, toDate(min(ended)) AS first, toDate(max(ended)) AS last, arraySort(groupUniqArray(device)) AS devices,
       arraySort(groupUniqArray(cause)) AS causes
FROM verdicts WHERE blame = 'network' AND host != ''
GROUP BY host HAVING count() > 1 ORDER BY jobs DESC, host
