-- bigquery | t(a, b, c); u(a, d)
SELECT a, b FROM t INNER UNION ALL BY NAME SELECT a, d FROM u
--> SELECT : a <- t.a, u.a tables=t,u

-- bigquery | t(a, b, c); u(a, d)
SELECT a, b FROM t LEFT UNION ALL BY NAME SELECT d, a FROM u
--> SELECT : a <- t.a, u.a | b <- t.b tables=t,u

-- bigquery | t(a, b, c); u(a, d)
SELECT a, b FROM t FULL OUTER UNION ALL BY NAME SELECT d, a FROM u
--> SELECT : a <- t.a, u.a | b <- t.b | d <- u.d tables=t,u

-- bigquery | t(a, b, c); u(a, d)
SELECT a, b FROM t FULL UNION ALL BY NAME ON (a) SELECT d, a FROM u
--> SELECT : a <- t.a, u.a tables=t,u

-- bigquery | t(a, b, c); u(a, d)
SELECT a, b FROM t INTERSECT DISTINCT CORRESPONDING SELECT c, b FROM t
--> SELECT : b <- t.b tables=t

-- bigquery | t(a, b, c); u(a, d)
SELECT a, b FROM t LEFT UNION ALL CORRESPONDING BY (b, a) SELECT b, a FROM t
--> SELECT : b <- t.b | a <- t.a tables=t

-- duckdb | t(a, b, c); u(a, d)
SELECT a, b FROM t UNION ALL BY NAME SELECT b, a FROM t UNION ALL SELECT d, a FROM u
--> SELECT : a <- t.a, u.d | b <- t.b, u.a tables=t,u

-- bigquery |
SELECT table_name FROM `proj.ds.INFORMATION_SCHEMA.TABLES`; SELECT table_name FROM ds.INFORMATION_SCHEMA.TABLES
--> SELECT : table_name <- proj.ds.INFORMATION_SCHEMA.TABLES.table_name tables=proj.ds.INFORMATION_SCHEMA.TABLES
--> SELECT : table_name <- ds.INFORMATION_SCHEMA.TABLES.table_name tables=ds.INFORMATION_SCHEMA.TABLES
--! UNKNOWN_TABLE info the columns of proj.ds.INFORMATION_SCHEMA.TABLES are not known
--! UNKNOWN_TABLE info the columns of ds.INFORMATION_SCHEMA.TABLES are not known

-- bigquery | ds.events_20260101(a, b); ds.events_20260102(a, b, c); ds.events(z)
SELECT * FROM `ds.events_*` WHERE _TABLE_SUFFIX = '20260101'
--> SELECT : a <- ds.events_*.a | b <- ds.events_*.b | c <- ds.events_*.c tables=ds.events_* star=full

-- bigquery | ds.t(a); u(a, d)
INSERT INTO ds.t$20260101 SELECT a FROM u; SELECT a FROM `ds.t$20260101`
--> INSERT ds.t: a <- u.a tables=u
--> SELECT : a <- ds.t.a tables=ds.t

-- bigquery | t(a, b, c)
CREATE OR REPLACE MODEL ds.m OPTIONS(model_type='linear_reg') AS SELECT a, b AS label FROM t; SELECT a, predicted_label FROM ML.PREDICT(MODEL ds.m, (SELECT a FROM t))
--> CREATE_MODEL ds.m: a <- t.a | label <- t.b tables=t
--> SELECT : a <- t.a | predicted_label <- t.a tables=ds.m,t

-- snowflake |
SELECT q.total, name FROM SEMANTIC_VIEW(sv METRICS orders.total DIMENSIONS customer.name WHERE region = 'x') AS q
--> SELECT : TOTAL <- SV.TOTAL | NAME <- SV.NAME [filter:SV.REGION] tables=SV
--! UNKNOWN_TABLE info the columns of SV are not known

-- snowflake | T(A,B)
SELECT t.$1, $2 FROM t; SELECT s.$1 FROM @stage/file s; SELECT $2 FROM VALUES (1, 2)
--> SELECT : $1 <- T.A | $2 <- T.B tables=T
--> SELECT : $1 <- @stage/file.$1 tables=@stage/file
--> SELECT : $2 <-
--! UNKNOWN_TABLE warning the columns of @stage/file are not known

-- snowflake | T(A)
USE SECONDARY ROLES ALL; SELECT a FROM t
--> USE :
--> SELECT : A <- T.A tables=T

-- clickhouse | t(a, b); dst(a, s)
CREATE MATERIALIZED VIEW mv TO dst AS SELECT sum(b) AS s, a FROM t GROUP BY a; SELECT * FROM dst
--> CREATE_VIEW mv: s <- t.b | a <- t.a tables=t
--> INSERT dst: s <- t.b | a <- t.a tables=t
--> SELECT : a <- dst.a | s <- dst.s tables=dst star=full

-- clickhouse | t(a, b); db.dict(attr, other)
SELECT dictGet('db.dict', 'attr', a) AS x, dictGetOrDefault('db.dict', ('attr', 'other'), b, '') AS y FROM t
--> SELECT : x <- db.dict.attr, t.a | y <- db.dict.attr, db.dict.other, t.b tables=t,db.dict

-- clickhouse |
SELECT s, n FROM VALUES('s String, n Decimal(10, 2)', ('a', 1), ('b', 2))
--> SELECT : s <- | n <-

-- redshift | t(a, b, c)
UNLOAD ('SELECT a, b FROM t WHERE c = ''x''') TO 's3://b/x' IAM_ROLE 'r' FORMAT PARQUET
--> UNLOAD s3://b/x: a <- t.a | b <- t.b [filter:t.c] tables=t

-- athena | t(a, b, c)
UNLOAD (SELECT a FROM t) TO 's3://b/x' WITH (format = 'PARQUET')
--> UNLOAD s3://b/x: a <- t.a tables=t

-- databricks | c.s.t(a)
USE CATALOG c; SELECT a FROM s.t; USE SCHEMA x; SELECT a FROM t
--> USE :
--> SELECT : a <- c.s.t.a tables=c.s.t
--> USE :
--> SELECT : a <- c.x.t.a tables=c.x.t
--! UNKNOWN_TABLE warning the columns of c.x.t are not known

-- postgres | t(a, b)
INSERT INTO t DEFAULT VALUES
--> INSERT t:

-- tsql | t(a, b, c)
WITH a AS (SELECT * FROM t WHERE b = 1) DELETE FROM a WHERE c = 2
--> DELETE t: [filter:t.b filter:t.c] star=full

-- tsql | t(a, b, c)
WITH x AS (SELECT a AS k, b AS v FROM t) UPDATE x SET v = k WHERE k = 2
--> UPDATE t: b <- t.a [filter:t.a] tables=t

-- tsql | t(a, b, c)
WITH x AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS n FROM t) DELETE FROM x WHERE n > 1
--> DELETE t: [filter:t.a filter:t.b] star=full

-- spark | t(k, s)
SELECT s.y.* FROM t
--> SELECT : tables=t star=none
--! APPROXIMATE_LINEAGE warning the fields of s.y are not known, so its star cannot be expanded

-- bigquery |
CREATE TABLE t (k INT64, s STRUCT<x INT64, y STRUCT<p INT64, q STRING>>, l ARRAY<STRUCT<p INT64, q STRING>>); SELECT s.* FROM t; SELECT s.y.* FROM t; SELECT t.s.y.* EXCEPT (p) FROM t; SELECT e.*, e.p AS z FROM t, UNNEST(t.l) AS e; SELECT p, x.q FROM t, t.l AS x
--> CREATE_TABLE t:
--> SELECT : x <- t.s.x | y <- t.s.y tables=t star=full
--> SELECT : p <- t.s.y.p | q <- t.s.y.q tables=t star=full
--> SELECT : q <- t.s.y.q tables=t star=full
--> SELECT : p <- t.l.p | q <- t.l.q | z <- t.l.p tables=t star=full
--> SELECT : p <- t.l.p | q <- t.l.q tables=t

-- duckdb |
CREATE TABLE t (k INT, s STRUCT(x INT, y STRUCT(p INT, q VARCHAR))); SELECT s.y.* FROM t; SELECT (s).y.p FROM t
--> CREATE_TABLE t:
--> SELECT : p <- t.s.y.p | q <- t.s.y.q tables=t star=full
--> SELECT : p <- t.s.y.p tables=t

-- bigquery |
SELECT s.*, s.y.* FROM t
--> SELECT : tables=t star=none
--! UNKNOWN_TABLE info the columns of t are not known
--! APPROXIMATE_LINEAGE warning the fields of s are not known, so its star cannot be expanded
--! APPROXIMATE_LINEAGE warning the fields of s.y are not known, so its star cannot be expanded

-- snowflake | T(A,B)
SELECT a FROM IDENTIFIER('t'); SELECT a FROM TABLE('t'); INSERT INTO IDENTIFIER('t') (a) SELECT b FROM t
--> SELECT : A <- T.A tables=T
--> SELECT : A <- T.A tables=T
--> INSERT T: A <- T.B tables=T

-- snowflake | T(A,B)
CREATE STREAM s ON TABLE t APPEND_ONLY = TRUE; SELECT a, metadata$action FROM s; SELECT * FROM s
--> CREATE_STREAM : S.A <- T.A | S.B <- T.B tables=T
--> SELECT : A <- S.A | METADATA$ACTION <- tables=S
--> SELECT : A <- S.A | B <- S.B tables=S star=full

-- snowflake | T(A,B)
SELECT OBJECT_CONSTRUCT(*) AS o, HASH(*) AS h, HASH_AGG(*) AS g, COUNT(*) AS c FROM t
--> SELECT : O <- T.A, T.B | H <- T.A, T.B | G <- T.A, T.B | C <- tables=T

-- snowflake |
SELECT month, open_days, x FROM SEMANTIC_VIEW(sv DIMENSIONS DATE_TRUNC('month', opened) AS month, customer.name || region AS x METRICS SUM(orders.days) AS open_days)
--> SELECT : MONTH <- SV.OPENED | OPEN_DAYS <- SV.DAYS | X <- SV.NAME, SV.REGION tables=SV
--! UNKNOWN_TABLE info the columns of SV are not known

-- clickhouse | e(id, k); d.p(id, name, kind)
SELECT dictGet(d.p, 'name', k) AS a, dictGetString('d.p', 'kind', k) AS b, dictGetOrDefault(d.p, ('name', 'kind'), k, ('', '')) AS c, dictHas(d.p, k) AS h, dictIsIn('d.p', k, id) AS i FROM e
--> SELECT : a <- d.p.name, e.k | b <- d.p.kind, e.k | c <- d.p.name, d.p.kind, e.k | h <- e.k | i <- e.k, e.id tables=e,d.p

-- clickhouse | e(id, k)
SELECT DICTGET(p, 'name', k) AS a FROM e
--> SELECT : a <- p.name, e.k tables=e,p
--! UNKNOWN_TABLE warning the columns of p are not known

-- databricks | c.default.t(a); c.s.t(b)
USE CATALOG c; SELECT a FROM t; USE SCHEMA s; SELECT b FROM t; USE CATALOG d; SELECT b FROM t
--> USE :
--> SELECT : a <- c.default.t.a tables=c.default.t
--> USE :
--> SELECT : b <- c.s.t.b tables=c.s.t
--> USE :
--> SELECT : b <- d.default.t.b tables=d.default.t
--! UNKNOWN_TABLE warning the columns of d.default.t are not known

-- clickhouse | d(id, name)
SELECT name FROM dictionary('d'); SELECT dictionaryKeys(name) AS k FROM d
--> SELECT : name <- d.name tables=d
--> SELECT : k <- d.name tables=d

-- clickhouse | db.t(a, b); u(c)
SELECT a FROM remote('host:9000', db.t); SELECT b FROM clusterAllReplicas('c', 'db', 't'); SELECT c FROM remoteSecure('h', u)
--> SELECT : a <- db.t.a tables=db.t
--> SELECT : b <- db.t.b tables=db.t
--> SELECT : c <- u.c tables=u

-- bigquery | d.t(a, b); d.q(c)
SELECT a, predicted_b FROM ML.PREDICT(MODEL d.m, TABLE d.t); SELECT distance FROM VECTOR_SEARCH(TABLE d.t, 'a', TABLE d.q)
--> SELECT : a <- d.t.a | predicted_b <- d.t.a, d.t.b tables=d.m,d.t
--> SELECT : distance <- d.t.a, d.t.b, d.q.c tables=d.t,d.q

-- bigquery | d.t(a, b)
SELECT x FROM d.rows_of(TABLE d.t, 3); SELECT a FROM APPENDS(TABLE d.t, NULL, NULL)
--> SELECT : x <- d.t.a, d.t.b tables=d.t star=full
--> SELECT : a <- d.t.a, d.t.b tables=d.t star=full

-- spark | t(a, b)
SELECT x FROM f(TABLE(t), 1); SELECT x FROM f(TABLE(SELECT a FROM t)); SELECT x FROM f(TABLE t)
--> SELECT : x <- t.a, t.b tables=t
--> SELECT : x <- t.a tables=t
--> SELECT : x <- t.a, t.b tables=t star=full
