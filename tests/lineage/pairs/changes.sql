-- postgres |
create table n (a int, b int); alter table n rename a to z; select * from n
--> CREATE_TABLE n:
--> ALTER : n.z <- n.a tables=n
--> SELECT : z <- n.z | b <- n.b tables=n star=full

-- spark | t(a, b, c); u(a, d); w(e)
create view v as select a from t; alter view v as select a, b from t; select * from v
--> CREATE_VIEW v: a <- t.a tables=t
--> ALTER_VIEW v: a <- t.a | b <- t.b tables=t
--> SELECT : a <- v.a | b <- v.b tables=v star=full

-- databricks |
create table n (s struct<x:int>); alter table n add column s.f int; select * from n
--> CREATE_TABLE n:
--> ALTER :
--> SELECT : s <- n.s tables=n star=full

-- postgres | t(a, b, c); u(a, d); w(e)
create temp table n on commit drop as select a from t; select * from n
--> CREATE_TABLE_AS n: a <- t.a tables=t
--> SELECT : a <- n.a tables=n star=full

-- postgres |
create temp table n (x int) on commit preserve rows; select * from n
--> CREATE_TABLE n:
--> SELECT : x <- n.x tables=n star=full

-- snowflake | T(A,B,C)
copy into t from (select $1, $2, $3 from @stage)
--> COPY T: A <- @stage.$1 | B <- @stage.$2 | C <- @stage.$3 tables=@stage
--! UNKNOWN_TABLE warning the columns of @stage are not known

-- mysql | t(a, b, c); u(a, d); w(e)
insert into t (a, b) select s.a, s.d from u s on duplicate key update b = s.d + t.b
--> INSERT t: a <- u.a | b <- u.d, t.b tables=u,t

-- spark |
insert into nn values (1, 2)
--> INSERT nn:
--! UNKNOWN_TABLE info the columns of the target nn are not known

-- postgres | t(a, b, c); u(a, d); w(e)
select sum(a) over (w order by b) x from t window w as (partition by c)
--> SELECT : x <- t.a, window t.b, window t.c tables=t

-- tsql | t(a, b, c); u(a, d); w(e)
create or alter view v as select a from t; select * from v
--> CREATE_VIEW v: a <- t.a tables=t
--> SELECT : a <- v.a tables=v star=full

-- duckdb | t(a, b, c); u(a, d); w(e)
select a from t limit (select max(d) from u)
--> SELECT : a <- t.a tables=t,u

-- postgres | t(a, b, c); u(a, d); w(e)
alter table t add constraint x primary key (a); alter table t drop constraint x; select * from t
--> ALTER :
--> ALTER :
--> SELECT : a <- t.a | b <- t.b | c <- t.c tables=t star=full

-- snowflake
CREATE TABLE cat.db.t (a INT, b INT);
ALTER TABLE cat.db.t RENAME TO cat.db.u;
SELECT * FROM cat.db.u
--> CREATE_TABLE CAT.DB.T:
--> ALTER : CAT.DB.U.A <- CAT.DB.T.A | CAT.DB.U.B <- CAT.DB.T.B tables=CAT.DB.T
--> SELECT : A <- CAT.DB.U.A | B <- CAT.DB.U.B tables=CAT.DB.U star=full

-- snowflake
CREATE TABLE cat.db.t (a INT, b INT);
ALTER TABLE cat.db.t RENAME TO cat.other.u;
SELECT a FROM cat.other.u;
SELECT a FROM cat.db.t
--> CREATE_TABLE CAT.DB.T:
--> ALTER : CAT.OTHER.U.A <- CAT.DB.T.A | CAT.OTHER.U.B <- CAT.DB.T.B tables=CAT.DB.T
--> SELECT : A <- CAT.OTHER.U.A tables=CAT.OTHER.U
--> SELECT : A <- CAT.DB.T.A tables=CAT.DB.T
--! UNKNOWN_TABLE info the columns of CAT.DB.T are not known

-- spark
CREATE TABLE db.t (a INT);
ALTER TABLE db.t RENAME TO u;
SELECT * FROM db.u
--> CREATE_TABLE db.t:
--> ALTER : db.u.a <- db.t.a tables=db.t
--> SELECT : a <- db.u.a tables=db.u star=full

-- postgres
CREATE TABLE db.t (a INT);
ALTER TABLE db.t RENAME TO u;
SELECT * FROM db.u
--> CREATE_TABLE db.t:
--> ALTER : db.u.a <- db.t.a tables=db.t
--> SELECT : a <- db.u.a tables=db.u star=full
