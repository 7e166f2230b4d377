-- The same as Parquet, a directory for each day, for who keeps it elsewhere. The columns keep their names and types; new ones come behind.
COPY (SELECT *, ts::DATE AS day FROM events) TO 'events' (FORMAT parquet, PARTITION_BY (day), COMPRESSION zstd, APPEND);
COPY verdicts TO 'verdicts.parquet' (FORMAT parquet, COMPRESSION zstd);
