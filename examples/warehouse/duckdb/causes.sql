-- What jobs failed of, and what it cost: hours of ranks, from a job's begin to its end.
SELECT blame, coalesce(cause, kind) AS cause, count(*) AS jobs, round(sum(processes * date_diff('second', began, ended)) / 3600, 1) AS rank_hours
FROM verdicts WHERE blame <> 'nothing'
GROUP BY ALL ORDER BY jobs DESC, cause;
