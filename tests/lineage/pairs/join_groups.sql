-- postgres | x(a); y(b, c)
SELECT q.n, c FROM ((SELECT a AS n FROM x) q JOIN y ON q.n = y.b)
--> SELECT : n <- x.a | c <- y.c [join:x.a join:y.b] tables=x,y

-- duckdb | x(a); y(b, c)
SELECT * FROM ((SELECT a AS n FROM x) q JOIN (SELECT b, c FROM y) r ON q.n = r.b) JOIN x AS z ON z.a = r.c
--> SELECT : n <- x.a | b <- y.b | c <- y.c | a <- x.a [join:x.a join:y.b join:y.c] tables=x,y star=full

-- duckdb | x(a)
SELECT q.a, r.a FROM ((SELECT a FROM x) q), (((SELECT a FROM x) r))
--> SELECT : a <- x.a | a <- x.a tables=x

-- spark | x(a); y(b, c)
SELECT * FROM (((SELECT a AS n FROM x) q JOIN y ON q.n = y.b) LEFT JOIN x ON x.a = y.c)
--> SELECT : n <- x.a | b <- y.b | c <- y.c | a <- x.a [join:x.a join:y.b join:y.c] tables=x,y star=full

-- tsql | x(a); y(b, c)
SELECT g.n, g.c FROM ((SELECT a AS n FROM x) q JOIN y ON q.n = y.b) AS g
--> SELECT : n <- x.a | c <- y.c [join:x.a join:y.b] tables=x,y

-- postgres | t(id, a); u(id, b); t3(id, d)
UPDATE t SET a = s.b + t3.d FROM (SELECT b, id FROM u) s JOIN t3 ON s.id = t3.id WHERE t.id = s.id
--> UPDATE t: a <- u.b, t3.d [filter:t.id filter:u.id join:t3.id join:u.id] tables=u,t3

-- postgres | t(id, a); u(id, b); t3(id, d)
DELETE FROM t USING (SELECT id FROM u) s JOIN t3 ON s.id = t3.id WHERE t.id = s.id
--> DELETE t: [filter:t.id filter:u.id join:t3.id join:u.id] tables=u,t3

-- tsql | t(id, a); u(id, b); v(k, c)
MERGE INTO t USING ((SELECT id, b FROM u) s JOIN v ON s.id = v.k) AS g ON t.id = g.id WHEN MATCHED THEN UPDATE SET a = g.c
--> MERGE t: a <- v.c [join:t.id join:u.id join:v.k] tables=u,v

-- duckdb | t(a, b); y(c)
SELECT p.*, c FROM (PIVOT t ON a IN ('x') USING sum(b)) p JOIN y ON p.x = y.c
--> SELECT : x <- t.b, conditional t.a | c <- y.c [join:t.a join:t.b join:y.c] tables=t,y star=full

-- snowflake | X(A); Y(B)
SELECT q.a, y.b FROM ((SELECT a FROM x UNION ALL SELECT b FROM y) q NATURAL JOIN y)
--> SELECT : A <- X.A, Y.B | B <- Y.B tables=X,Y

-- spark | x(a); y(a, b)
WITH c AS (SELECT a FROM x) SELECT c.a, b FROM ((SELECT a FROM c) d JOIN c USING (a) JOIN y USING (a))
--> SELECT : a <- x.a | b <- y.b [join:x.a join:y.a] tables=x,y

-- postgres | x(a, k); y(b, k)
SELECT (SELECT max(q.a) FROM ((SELECT a, k FROM x) q JOIN y y2 ON q.k = y2.k) WHERE y2.b = y.b) AS m FROM y
--> SELECT : m <- x.a [filter:y.b join:x.k join:y.k] tables=y,x

-- duckdb | t(a, b); u(a, c); v(c, d)
SELECT t.b, u.c, v.d FROM t JOIN (u JOIN v ON u.c = v.c) ON t.a = u.a
--> SELECT : b <- t.b | c <- u.c | d <- v.d [join:t.a join:u.a join:u.c join:v.c] tables=t,u,v

-- duckdb | t(a, b); u(a, c); v(c, d)
SELECT * FROM t JOIN (u JOIN v USING (c)) USING (a)
--> SELECT : a <- t.a | b <- t.b | c <- u.c | d <- v.d [join:t.a join:u.a join:u.c join:v.c] tables=t,u,v star=full

-- postgres | t(a, b); u(a, c); v(c, d)
SELECT b, d FROM (t JOIN u USING (a)) LEFT JOIN v USING (c)
--> SELECT : b <- t.b | d <- v.d [join:t.a join:u.a join:u.c join:v.c] tables=t,u,v

-- postgres | t(a, b); u(a, c)
SELECT j.b, j.c FROM (t JOIN u USING (a)) AS j WHERE j.a > 0
--> SELECT : b <- t.b | c <- u.c [filter:t.a join:t.a join:u.a] tables=t,u

-- spark | t(a, b); u(a, c); v(c, d)
SELECT * FROM ((t JOIN u ON t.a = u.a) CROSS JOIN v)
--> SELECT : a <- t.a | b <- t.b | a <- u.a | c <- u.c | c <- v.c | d <- v.d [join:t.a join:u.a] tables=t,u,v star=full
