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
