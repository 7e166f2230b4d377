-- What jobs failed of, and what it cost: hours of ranks, from a job's begin to its end.
SELECT blame, if(cause = '', kind, cause) AS what, count() AS jobs, round(sum(processes * dateDiff('second', began, ended)) / 3600, 1) AS rank_hours
FROM verdicts WHERE blame != 'nothing'
GROUP BY blame, what ORDER BY jobs DESC, what
