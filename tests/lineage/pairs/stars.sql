-- snowflake | t(id, cost_usd, cost_eur, name)
SELECT * ILIKE '%cost%' FROM t
--> SELECT : cost_usd <- t.cost_usd | cost_eur <- t.cost_eur tables=t star=full

-- snowflake | t(id, cost_usd, cost_eur, name)
SELECT * ILIKE 'COST_U_D' FROM t
--> SELECT : cost_usd <- t.cost_usd tables=t star=full

-- snowflake | t(id, cost_usd, cost_eur, name)
SELECT * ILIKE 'cost' FROM t
--> SELECT : tables=t star=full

-- bigquery | t(id, s)
SELECT s.* FROM t
--> SELECT : tables=t star=none
--! APPROXIMATE_LINEAGE warning the fields of s are not known, so its star cannot be expanded

-- bigquery | t(id, s)
SELECT t.s.* FROM t
--> SELECT : tables=t star=none
--! APPROXIMATE_LINEAGE warning the fields of t.s are not known, so its star cannot be expanded

-- snowflake | T(A, B, C)
SELECT * RENAME (b AS bb) FROM t
--> SELECT : A <- T.A | BB <- T.B | C <- T.C tables=T star=full

-- snowflake | T(A, B, C)
SELECT * EXCLUDE (b) RENAME (c AS cc) FROM t
--> SELECT : A <- T.A | CC <- T.C tables=T star=full

-- snowflake
SELECT * ILIKE 'a%' FROM t
--> SELECT : tables=T~ star=none
--! UNKNOWN_TABLE info the columns of T are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of T are not known

-- duckdb | t(ab, AC, b)
SELECT * LIKE 'a%' FROM t
--> SELECT : ab <- t.ab tables=t star=full

-- duckdb | t(ab, AC, b)
SELECT * ILIKE 'a_' FROM t
--> SELECT : ab <- t.ab | AC <- t.AC tables=t star=full

-- duckdb | t(ab, ac, b)
SELECT COLUMNS('^a') FROM t
--> SELECT : ab <- t.ab | ac <- t.ac tables=t star=full

-- duckdb
CREATE TABLE t (id INT, s STRUCT(x INT, y STRUCT(z INT)));
SELECT s.*, id FROM t
--> CREATE_TABLE t:
--> SELECT : x <- t.s.x | y <- t.s.y | id <- t.id tables=t star=full

-- bigquery
CREATE TABLE t (id INT64, s STRUCT<x INT64, y STRUCT<z INT64>>);
SELECT s.* FROM t
--> CREATE_TABLE t:
--> SELECT : x <- t.s.x | y <- t.s.y tables=t star=full

-- spark | db.t(a, b); u(c)
SELECT db.t.* FROM db.t JOIN u ON a = c
--> SELECT : a <- db.t.a | b <- db.t.b [join:db.t.a join:u.c] tables=db.t,u star=full

-- spark | db.t(a, b); other.t(c, d)
SELECT other.t.*, db.t.a FROM db.t CROSS JOIN other.t
--> SELECT : c <- other.t.c | d <- other.t.d | a <- db.t.a tables=db.t,other.t star=full

-- snowflake | cat.db.t(a, b); u(c)
SELECT cat.db.t.*, u.c FROM cat.db.t, u
--> SELECT : a <- cat.db.t.a | b <- cat.db.t.b | C <- u.c tables=cat.db.t,u star=full

-- postgres | db.t(a, b)
SELECT nowhere.t.* FROM db.t
--> SELECT : tables=db.t star=none
--! UNRESOLVED_REFERENCE error nowhere.t.* does not name anything that this query reads

-- duckdb | t(a, b, c)
SELECT * EXCLUDE (b) REPLACE (a + c AS a) FROM t
--> SELECT : a <- t.a, t.c | c <- t.c tables=t star=full

-- bigquery | t(a, b, c)
SELECT * EXCEPT (b) FROM t
--> SELECT : a <- t.a | c <- t.c tables=t star=full

-- mysql | y(b, c, d); z(c, e, b)
SELECT * FROM y JOIN z USING (c, b)
--> SELECT : b <- y.b | c <- y.c | d <- y.d | e <- z.e [join:y.b join:y.c join:z.b join:z.c] tables=y,z star=full

-- postgres | y(b, c, d); z(c, e, b)
SELECT * FROM y JOIN z USING (c, b)
--> SELECT : c <- y.c | b <- y.b | d <- y.d | e <- z.e [join:y.b join:y.c join:z.b join:z.c] tables=y,z star=full
