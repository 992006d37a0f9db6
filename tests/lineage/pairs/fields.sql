-- postgres | t(c)
SELECT (t.c).* FROM t
--> SELECT : tables=t star=none
--! APPROXIMATE_LINEAGE warning the fields of t.c are not known, so its star cannot be expanded

-- bigquery |
SELECT (t.c).* EXCEPT (x) FROM t
--> SELECT : tables=t star=none
--! UNKNOWN_TABLE info the columns of t are not known
--! APPROXIMATE_LINEAGE warning the fields of t.c are not known, so its star cannot be expanded

-- postgres | t(a, b)
SELECT (t).* FROM t
--> SELECT : a <- t.a | b <- t.b tables=t star=full

-- postgres | t(x)
SELECT f(x).*, (f(x)).* FROM t
--> SELECT : tables=t star=none
--! APPROXIMATE_LINEAGE warning the fields of f(x) are not known, so its star cannot be expanded

-- bigquery | t(arr)
SELECT arr[0].*, arr[OFFSET(0)].x.* FROM t
--> SELECT : tables=t star=none
--! APPROXIMATE_LINEAGE warning the fields of arr[0] are not known, so its star cannot be expanded
--! APPROXIMATE_LINEAGE warning the fields of arr[OFFSET(0)].x are not known, so its star cannot be expanded

-- postgres |
SELECT a.b.c.d.e.* FROM t
--> SELECT : tables=t star=none
--! UNKNOWN_TABLE info the columns of t are not known
--! UNRESOLVED_REFERENCE error a.b.c.d does not name anything that this query reads
--! APPROXIMATE_LINEAGE warning the fields of a.b.c.d.e are not known, so its star cannot be expanded

-- snowflake | T(A)
SELECT (a:b).* FROM t
--> SELECT : tables=T star=none
--! APPROXIMATE_LINEAGE warning the fields of GET_PATH(a, 'b') are not known, so its star cannot be expanded

-- spark | t(c, d)
SELECT struct((t.c).*, d) AS s, count((t.c).*) AS n FROM t WHERE (t.c).x = 1
--> SELECT : s <- t.c, t.d | n <- t.c [filter:t.c.x] tables=t

-- clickhouse | t(id, pair)
SELECT (pair).1 AS a, (pair).1.2 AS b, pair.1 AS c, t.pair.2 AS d, (t.pair).1 AS e FROM t
--> SELECT : a <- t.pair.1 | b <- t.pair.1.2 | c <- t.pair.1 | d <- t.pair.2 | e <- t.pair.1 tables=t

-- sqlite | a(b, c)
SELECT 'a'.'b', a.'c', 'a'.'nope' FROM a
--> SELECT : b <- a.b | c <- a.c | nope <- ~a.nope tables=a
--! UNKNOWN_COLUMN warning there is no column nope in a

-- postgres | t(c)
SELECT (t.c).x.y, ((t.c).x).y AS z FROM t
--> SELECT : y <- t.c.x.y | z <- t.c.x.y tables=t

-- bigquery |
CREATE TABLE t (id INT64, c STRUCT<x INT64, y STRING>, arr ARRAY<STRUCT<u INT64, v INT64>>);
SELECT (t.c).*, arr[0].*, c.* EXCEPT (x) FROM t
--> CREATE_TABLE t:
--> SELECT : x <- t.c.x | y <- t.c.y | u <- t.arr.u | v <- t.arr.v | y <- t.c.y tables=t star=full

-- bigquery | t(a, b, c)
WITH q AS (SELECT STRUCT(a AS x, STRUCT(b AS y, c) AS n) AS s FROM t) SELECT q.s.*, s.n.*, q.s.n.y, s.x AS z FROM q
--> SELECT : x <- t.a | n <- t.b, t.c | y <- t.b | c <- t.c | y <- t.b | z <- t.a tables=t star=full

-- bigquery | t(id, a, ts)
SELECT e.* EXCEPT (id), e.a AS again FROM (SELECT ARRAY_AGG(t ORDER BY ts DESC LIMIT 1)[OFFSET(0)] AS e FROM t GROUP BY id)
--> SELECT : a <- t.a, window t.ts | ts <- t.ts, window t.ts | again <- t.a, window t.ts tables=t star=full

-- bigquery |
SELECT e.a FROM (SELECT ANY_VALUE(t) AS e FROM t); SELECT e.* FROM (SELECT ANY_VALUE(t) AS e FROM t)
--> SELECT : a <- t.a tables=t
--> SELECT : tables=t~ star=none
--! UNKNOWN_TABLE info the columns of t are not known
--! UNKNOWN_TABLE info the columns of t are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of t are not known

-- bigquery | m(id, a); e(id, a)
SELECT 1 AS k, IF(m.id IS NOT NULL, m, e).* REPLACE (LEAST(m.a, e.a) AS a) FROM m FULL JOIN e USING (id)
--> SELECT : k <- | id <- m.id, e.id, conditional m.id | a <- m.a, e.a [join:e.id join:m.id] tables=m,e star=full

-- bigquery | t(a, b)
SELECT * FROM UNNEST(ARRAY<STRUCT<x STRING, y INT64>>[('p', 1)]); SELECT u.x, u.y FROM t, UNNEST([STRUCT(a AS x, b AS y), STRUCT(b, 1)]) AS u; SELECT * FROM UNNEST(ARRAY(SELECT AS STRUCT a, b FROM t))
--> SELECT : x <- | y <- star=full
--> SELECT : x <- t.a, t.b | y <- t.b tables=t
--> SELECT : a <- t.a | b <- t.b tables=t star=full

-- bigquery | t(a, b)
SELECT (SELECT AS STRUCT a, b AS c).*, STRUCT<x INT64, y INT64>(a, b).* FROM t
--> SELECT : a <- t.a | c <- t.b | x <- t.a | y <- t.b tables=t star=full

-- spark | t(id, a, ts)
SELECT m.*, m.a AS x FROM (SELECT id, max(struct(ts, a)) AS m FROM t GROUP BY id); SELECT s.* FROM (SELECT max_by(struct(*), ts) AS s FROM t)
--> SELECT : ts <- t.ts | a <- t.a, t.ts | x <- t.a, t.ts tables=t star=full
--> SELECT : id <- t.id, t.ts | a <- t.a, t.ts | ts <- t.ts tables=t star=full

-- spark | t(a, b)
SELECT inline(array(named_struct('x', a, 'y', b), struct(b AS x, 1 AS y))) FROM t
--> SELECT : x <- t.a, t.b | y <- t.b tables=t

-- duckdb | t(a, b); u(a, b)
SELECT s.* FROM (SELECT {'x': a, 'y': b} AS s FROM t UNION ALL SELECT {'x': b, 'y': a} FROM u); SELECT (CASE WHEN a > 1 THEN {'x': a} ELSE {'x': b} END).x AS v FROM t
--> SELECT : x <- t.a, u.b | y <- t.b, u.a tables=t,u star=full
--> SELECT : v <- t.a, t.b, conditional t.a tables=t

-- duckdb | t(a, b)
SELECT unnest(s), r.s.y FROM (SELECT {'x': a, 'y': b} AS s FROM t) AS r
--> SELECT : unnest(s) <- t.a, t.b | y <- t.b tables=t

-- trino | t(a, b)
SELECT r.x, r.y FROM (SELECT CAST(ROW(a, b) AS ROW(x INTEGER, y INTEGER)) AS r FROM t)
--> SELECT : x <- t.a | y <- t.b tables=t

-- bigquery | t(a, b)
WITH RECURSIVE r AS (SELECT STRUCT(a AS x, b AS y) AS s FROM t UNION ALL SELECT STRUCT(s.y, s.x) FROM r) SELECT s.x FROM r
--> SELECT : x <- t.a, t.b tables=t
