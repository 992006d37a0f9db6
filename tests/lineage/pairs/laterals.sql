-- spark | t(a, b, arr, m); u(a, d)
SELECT t.a, x.c, y.k, y.v FROM t LATERAL VIEW explode(arr) x AS c LATERAL VIEW OUTER explode(m) y AS k, v
--> SELECT : a <- t.a | c <- t.arr | k <- t.m | v <- t.m tables=t

-- spark | t(a, b, arr, m); u(a, d)
SELECT a, p, c FROM t LATERAL VIEW posexplode(arr) x AS p, c WHERE c > b
--> SELECT : a <- t.a | p <- | c <- t.arr [filter:t.arr filter:t.b] tables=t

-- spark | t(a, b, arr, m); u(a, d)
SELECT a, x.col FROM t, LATERAL explode(arr) AS x; SELECT a, e FROM t, LATERAL explode(arr) AS x(e)
--> SELECT : a <- t.a | col <- t.arr tables=t
--> SELECT : a <- t.a | e <- t.arr tables=t

-- spark | t(a, b, j); u(a, d)
SELECT a, x, y FROM t LATERAL VIEW json_tuple(j, 'x', 'y') k AS x, y
--> SELECT : a <- t.a | x <- t.j | y <- t.j tables=t

-- spark | t(a, b, arr, m); u(a, d)
SELECT * FROM t LATERAL VIEW explode(arr) x AS c
--> SELECT : a <- t.a | b <- t.b | arr <- t.arr | m <- t.m | c <- t.arr tables=t star=full

-- spark | t(a, b); u(a, d)
SELECT t.a, s.m FROM t, LATERAL (SELECT max(d) AS m FROM u WHERE u.a = t.a) s
--> SELECT : a <- t.a | m <- u.d [filter:t.a filter:u.a] tables=t,u

-- spark | t(a, b); u(a, d)
SELECT t.a, s.m FROM t LEFT JOIN LATERAL (SELECT d + t.b AS m FROM u WHERE u.a = t.a) AS s ON s.m > 1
--> SELECT : a <- t.a | m <- u.d, t.b [filter:t.a filter:u.a join:t.b join:u.d] tables=t,u

-- postgres | t(a, b, arr, j); u(a, d)
SELECT t.a, u.x, u.n FROM t, unnest(t.arr) WITH ORDINALITY AS u(x, n)
--> SELECT : a <- t.a | x <- t.arr | n <- tables=t

-- postgres | t(a, b, arr, j); u(a, d)
SELECT a, e->>'k' AS k FROM t, jsonb_array_elements(t.j) AS e
--> SELECT : a <- t.a | k <- t.j tables=t

-- postgres | t(a, b, arr, j); u(a, d)
SELECT a, e.value FROM t CROSS JOIN LATERAL jsonb_each(j) AS e; SELECT a, e.key, e.value FROM t, jsonb_each_text(t.j) e
--> SELECT : a <- t.a | value <- t.j tables=t
--> SELECT : a <- t.a | key <- t.j | value <- t.j tables=t

-- postgres | t(a, b, arr, j); u(a, d)
SELECT g, g.g AS h FROM t, generate_series(t.a, t.b) AS g
--> SELECT : g <- t.a, t.b | h <- t.a, t.b tables=t

-- postgres | t(a, b, arr, j); u(a, d)
SELECT r.x, r.y FROM t, jsonb_to_recordset(t.j) AS r(x int, y text)
--> SELECT : x <- t.j | y <- t.j tables=t

-- postgres | t(a, b, arr, j); u(a, d)
SELECT x.p, x.q FROM t, ROWS FROM (unnest(t.arr), generate_series(1, t.b)) AS x(p, q)
--> SELECT : p <- t.arr | q <- t.b tables=t

-- postgres | t(a, b); u(a, d)
SELECT t.a, s.* FROM t LEFT JOIN LATERAL (SELECT u.d, t.b AS tb FROM u WHERE u.a = t.a ORDER BY u.d LIMIT 1) s ON true
--> SELECT : a <- t.a | d <- u.d | tb <- t.b [filter:t.a filter:u.a] tables=t,u star=full

-- postgres | t(a, b); u(a, d)
SELECT t.a, s.d FROM t CROSS JOIN LATERAL (SELECT d FROM u WHERE u.a = t.a UNION ALL SELECT t.b) s
--> SELECT : a <- t.a | d <- u.d, t.b [filter:t.a filter:u.a] tables=t,u

-- tsql | t(a, b, j, s); u(a, d)
SELECT t.a, q.m FROM t OUTER APPLY (SELECT max(d) AS m FROM u WHERE u.a = t.a) q
--> SELECT : a <- t.a | m <- u.d [filter:t.a filter:u.a] tables=t,u

-- tsql | t(a, b, j, s); u(a, d)
SELECT t.a, v.x FROM t CROSS APPLY (VALUES (t.a), (t.b)) v(x)
--> SELECT : a <- t.a | x <- t.a, t.b tables=t

-- tsql | t(a, b, j, s); u(a, d)
SELECT t.a, f.value FROM t CROSS APPLY STRING_SPLIT(t.s, ',') f
--> SELECT : a <- t.a | value <- t.s tables=t

-- tsql | t(a, b, j, s); u(a, d)
SELECT t.a, o.x, o.y FROM t CROSS APPLY OPENJSON(t.j) WITH (x INT '$.x', y VARCHAR(10) '$.y') o
--> SELECT : a <- t.a | x <- t.j | y <- t.j tables=t

-- tsql | t(a, b, j, s); u(a, d)
SELECT t.a, f.n FROM t CROSS APPLY dbo.fn(t.b) AS f
--> SELECT : a <- t.a | n <- t.b tables=t

-- bigquery | t(a, b, arr); u(a, d)
SELECT a, x, o FROM t, UNNEST(arr) AS x WITH OFFSET AS o
--> SELECT : a <- t.a | x <- t.arr | o <- tables=t

-- bigquery | t(a, b, arr); u(a, d)
SELECT a, (SELECT max(x) FROM UNNEST(arr) AS x WHERE x > b) AS m, ARRAY(SELECT x + 1 FROM UNNEST(t.arr) AS x) AS l FROM t
--> SELECT : a <- t.a | m <- t.arr | l <- t.arr [filter:t.arr filter:t.b] tables=t

-- snowflake | T(A, V); U(A, D)
SELECT t.a, f.value:x::int AS x, f.index AS i FROM t, LATERAL FLATTEN(input => t.v:items) f
--> SELECT : A <- T.A | X <- T.V | I <- tables=T

-- snowflake | T(A, V); U(A, D)
SELECT t.a, s.value FROM t, LATERAL SPLIT_TO_TABLE(t.v, ',') s; SELECT f.value FROM t, TABLE(FLATTEN(t.v)) f
--> SELECT : A <- T.A | VALUE <- T.V tables=T
--> SELECT : VALUE <- T.V tables=T

-- oracle | T(A, B, J); U(A, D)
SELECT t.a, jt.x FROM t, JSON_TABLE(t.j, '$[*]' COLUMNS (x NUMBER PATH '$.x')) jt
--> SELECT : A <- T.A | X <- T.J tables=T

-- oracle | T(A, B, J); U(A, D)
SELECT t.a, c.column_value FROM t, TABLE(t.j) c
--> SELECT : A <- T.A | COLUMN_VALUE <- T.J tables=T

-- oracle | T(A, B); U(A, D)
SELECT t.a, q.m FROM t CROSS APPLY (SELECT max(d) m FROM u WHERE u.a = t.b) q
--> SELECT : A <- T.A | M <- U.D [filter:T.B filter:U.A] tables=T,U

-- trino | t(a, b, x, y)
SELECT a, p, q, n FROM t CROSS JOIN UNNEST(x, y) WITH ORDINALITY AS u(p, q, n); SELECT a, k, v FROM t CROSS JOIN UNNEST(x) AS u(k, v)
--> SELECT : a <- t.a | p <- t.x | q <- t.y | n <- tables=t
--> SELECT : a <- t.a | k <- t.x | v <- t.x tables=t

-- clickhouse | t(a, arr, n)
SELECT a, x, n.k FROM t ARRAY JOIN arr AS x; SELECT a, arrayJoin(arr) AS y FROM t; SELECT a, arr FROM t LEFT ARRAY JOIN arr
--> SELECT : a <- t.a | x <- t.arr | k <- t.n.k tables=t
--> SELECT : a <- t.a | y <- t.arr tables=t
--> SELECT : a <- t.a | arr <- t.arr tables=t

-- duckdb | t(a, b); u(a, d)
SELECT CASE WHEN (SELECT max(d) FROM u WHERE u.a = t.a) > 1 THEN b END AS x, EXISTS (SELECT 1 FROM u WHERE u.d = t.b) AS e, a IN (SELECT d FROM u) AS i FROM t
--> SELECT : x <- conditional u.d, t.b | e <- | i <- t.a, u.d [filter:t.a filter:t.b filter:u.a filter:u.d] tables=t,u

-- postgres | t(a, b); u(a, d)
SELECT sum(b) OVER (PARTITION BY (SELECT max(d) FROM u WHERE u.a = t.a)) AS s FROM t
--> SELECT : s <- t.b, window u.d [filter:t.a filter:u.a] tables=t,u

-- hive | t(a, arr)
SELECT a, pos, val FROM t LATERAL VIEW OUTER posexplode(arr) pe AS pos, val
--> SELECT : a <- t.a | pos <- | val <- t.arr tables=t

-- databricks | t(a, arr); u(a, d)
SELECT t.a, e.col FROM t JOIN LATERAL explode(t.arr) AS e ON e.col > t.a; SELECT a, explode(arr) AS x FROM t; SELECT a, posexplode(arr) FROM t
--> SELECT : a <- t.a | col <- t.arr [join:t.a join:t.arr] tables=t
--> SELECT : a <- t.a | x <- t.arr tables=t
--> SELECT : a <- t.a | pos <- | col <- t.arr tables=t

-- tsql | t(a,x)
SELECT t.a, n.c.value('@id','int') AS i FROM t CROSS APPLY t.x.nodes('/a/b') AS n(c)
--> SELECT : a <- t.a | i <- t.x tables=t

-- duckdb | t(a, b)
SELECT t.a, l.m FROM t, (SELECT t.b + 1 AS m) l
--> SELECT : a <- t.a | m <- t.b tables=t

-- postgres | t(a, b); u(a, d); w(e)
SELECT t.a, s.r, s.c FROM t, LATERAL (SELECT row_number() OVER (ORDER BY u.d) r, CASE WHEN u.d > t.b THEN u.a END AS c FROM u JOIN w ON w.e = u.a AND w.e = t.a) s
--> SELECT : a <- t.a | r <- window u.d | c <- conditional u.d, conditional t.b, u.a [join:t.a join:u.a join:w.e] tables=t,u,w

-- spark | t(a, b); u(a, d)
SELECT t.a, s.r FROM t JOIN LATERAL (SELECT sum(d) FILTER (WHERE u.a > t.b) AS r FROM u) s
--> SELECT : a <- t.a | r <- u.d, conditional u.a, conditional t.b tables=t,u

-- postgres | t(a, b); u(a, d); w(e)
UPDATE t SET b = s.m FROM u, LATERAL (SELECT max(e) AS m FROM w WHERE w.e = u.d) s WHERE u.a = t.a
--> UPDATE t: b <- w.e [filter:t.a filter:u.a filter:u.d filter:w.e] tables=u,w
