-- duckdb | t(a, b, c, d)
SELECT CASE WHEN a > 0 THEN b ELSE c END AS x FROM t
--> SELECT : x <- conditional t.a, t.b, t.c tables=t

-- duckdb | t(a, b, c, d)
SELECT CASE a WHEN b THEN 1 ELSE d END AS x FROM t
--> SELECT : x <- conditional t.a, conditional t.b, t.d tables=t

-- duckdb | t(a, b, c, d)
SELECT CASE WHEN a > 0 THEN CASE WHEN b > 0 THEN 1 ELSE c END ELSE d END AS x FROM t
--> SELECT : x <- conditional t.a, conditional t.b, t.c, t.d tables=t

-- duckdb | t(a, b, c, d)
SELECT sum(CASE WHEN a = 1 THEN b ELSE c END) OVER (PARTITION BY d) AS x FROM t
--> SELECT : x <- conditional t.a, t.b, t.c, window t.d tables=t

-- duckdb | t(a, b, c, d)
SELECT IF(a > 0, b, c) AS x, coalesce(a, d) AS y, nullif(b, c) AS z FROM t
--> SELECT : x <- conditional t.a, t.b, t.c | y <- t.a, t.d | z <- t.b, t.c tables=t

-- duckdb | t(a, b, c, d)
SELECT x, y FROM (SELECT CASE WHEN a > 0 THEN b ELSE c END AS x, d AS y FROM t)
--> SELECT : x <- conditional t.a, t.b, t.c | y <- t.d tables=t

-- duckdb | t(a, b, c); u(b, c, d)
SELECT * FROM t NATURAL JOIN u
--> SELECT : a <- t.a | b <- t.b | c <- t.c | d <- u.d [join:t.b join:t.c join:u.b join:u.c] tables=t,u star=full

-- postgres | t(a, b); u(a, c)
SELECT (SELECT max(c) FROM u WHERE u.a = t.a) AS m FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.c = t.b)
--> SELECT : m <- u.c [filter:t.a filter:t.b filter:u.a filter:u.c] tables=t,u

-- postgres | t(a, b); u(a, c)
SELECT t.a, x.c FROM t CROSS JOIN LATERAL (SELECT c FROM u WHERE u.a = t.a) AS x
--> SELECT : a <- t.a | c <- u.c [filter:t.a filter:u.a] tables=t,u

-- duckdb | t(a, b); u(a, b)
SELECT a FROM t EXCEPT SELECT b FROM u
--> SELECT : a <- t.a, u.b tables=t,u

-- duckdb | t(a, b); u(b, a)
SELECT * FROM t UNION BY NAME SELECT * FROM u
--> SELECT : a <- t.a, u.a | b <- t.b, u.b tables=t,u star=full

-- postgres | t(a, b, c); u(d)
SELECT a LIKE b ESCAPE (c || '') AS m, a NOT ILIKE 'x' ESCAPE c AS n FROM t WHERE b SIMILAR TO 'y' ESCAPE (SELECT d FROM u)
--> SELECT : m <- t.a, t.b, t.c | n <- t.a, t.c [filter:t.b filter:u.d] tables=t,u
