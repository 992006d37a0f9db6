-- spark | t(a, b, c); u(a, d); w(e)
insert into t select a, d, 1 from u
--> INSERT t: a <- u.a | b <- u.d | c <- tables=u

-- spark | t(a, b, c); u(a, d); w(e)
insert into t (c, a) select d, a from u
--> INSERT t: c <- u.d | a <- u.a tables=u

-- spark | t(a, b, c); u(a, d); w(e)
insert into t by name select d as c, a from u
--> INSERT t: c <- u.d | a <- u.a tables=u

-- duckdb | t(a, b, c); u(a, d); w(e)
insert into t by name select * from u
--> INSERT t: a <- u.a | d <- u.d tables=u star=full

-- spark | t(a, b, c); u(a, d); w(e)
insert into nt select * from u
--> INSERT nt: a <- u.a | d <- u.d tables=u star=full
--! UNKNOWN_TABLE info the columns of the target nt are not known

-- spark | t(a, b, c); u(a, d); w(e)
insert into t select * from zzz
--> INSERT t: a <- | b <- | c <- tables=zzz~ star=none
--! UNKNOWN_TABLE warning the columns of zzz are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of zzz are not known

-- spark | t(a, b, c); u(a, d); w(e)
insert overwrite t partition (c) select a, d, a+1 from u
--> INSERT t: a <- u.a | b <- u.d | c <- u.a tables=u

-- spark | t(a, b, c); u(a, d); w(e)
insert into t values (1,2,3)
--> INSERT t: a <- | b <- | c <-

-- hive | t(a, b, c); u(a, d); w(e)
from u insert into t select a, d, 1 where d > 1 insert overwrite table w select d
--> INSERT t: a <- u.a | b <- u.d | c <- [filter:u.d] tables=u
--> INSERT w: e <- u.d tables=u

-- snowflake | U(A, D); W(E)
insert all when a > 1 then into w (e) values (d) else into nn select a, d from u
--> INSERT W: E <- U.D [filter:U.A] tables=U
--> INSERT NN: A <- U.A | D <- U.D tables=U
--! UNKNOWN_TABLE info the columns of the target NN are not known

-- postgres | t(a, b, c); u(a, d); w(e)
insert into t as x (a, b) select a, d from u on conflict (a) do update set b = excluded.b + x.b where x.c > 1 returning a
--> INSERT t: a <- u.a | b <- u.d, t.b [filter:t.c] tables=u,t

-- mysql | t(a, b, c); u(a, d); w(e)
insert into t (a,b) select a, d from u on duplicate key update b = values(b) + t.b
--> INSERT t: a <- u.a | b <- u.d, t.b tables=u,t

-- spark | t(a, b, c); u(a, d); w(e)
update t set b = b + 1, c = (select max(d) from u where u.a = t.a) where a in (select e from w)
--> UPDATE t: b <- t.b | c <- u.d [filter:t.a filter:u.a filter:w.e] tables=u,w,t

-- postgres | t(a, b, c); u(a, d); w(e)
update t set (b, c) = (select d, a from u where u.a = t.a)
--> UPDATE t: b <- u.d | c <- u.a [filter:t.a filter:u.a] tables=u

-- postgres | t(a, b, c); u(a, d); w(e)
update t x set b = u.d from u where u.a = x.a
--> UPDATE t: b <- u.d [filter:t.a filter:u.a] tables=u

-- mysql | t(a, b, c); u(a, d); w(e)
update t join u on t.a=u.a set t.b = u.d, t.c = t.c+1 where u.d > 1
--> UPDATE t: b <- u.d | c <- t.c [filter:u.d join:t.a join:u.a] tables=u,t

-- mysql | t(a, b, c); u(a, d); w(e)
update t join u on t.a=u.a set u.d = t.b
--> UPDATE u: d <- t.b [join:t.a join:u.a] tables=t

-- tsql | t(a, b, c); u(a, d); w(e)
with x as (select * from u) update t set b = x.d from x where x.a=t.a
--> UPDATE t: b <- u.d [filter:t.a filter:u.a] tables=u star=full

-- databricks | t(a, b, c); u(a, d); w(e)
merge into t using u on t.a = u.a when matched and u.d > 5 then update set b = u.d + t.b when matched then delete when not matched then insert (a, b) values (u.a, d) when not matched by source and t.c = 1 then update set c = t.b
--> MERGE t: b <- u.d, t.b | a <- u.a | c <- t.b [join:t.a join:t.c join:u.a join:u.d] tables=u,t

-- databricks | t(a,b,c); u(a,b)
merge into t using u on t.a=u.a when matched then update set * when not matched then insert *
--> MERGE t: a <- u.a | b <- u.b [join:t.a join:u.a] tables=u star=full

-- databricks | t(a, b, c); u(a, d); w(e)
merge into t using zz on t.a=zz.a when matched then update set * when not matched then insert *
--> MERGE t: a <- ~zz.a | b <- ~zz.b | c <- ~zz.c [join:t.a join:zz.a] tables=zz~ star=partial
--! UNKNOWN_TABLE warning the columns of zz are not known
--! APPROXIMATE_LINEAGE info the star of this MERGE cannot be expanded fully: the columns of zz are not known

-- databricks |
merge into tt using zz on tt.a=zz.a when matched then update set * when not matched then insert *
--> MERGE tt: [join:tt.a join:zz.a] tables=zz~ star=none
--! UNKNOWN_TABLE info the columns of the target tt are not known
--! UNKNOWN_TABLE info the columns of zz are not known
--! APPROXIMATE_LINEAGE warning the star of this MERGE cannot be expanded fully: the columns of zz are not known

-- bigquery | t(x,y); u(a,d)
merge into t using u on t.a=u.a when not matched then insert row
--> MERGE t: x <- u.a | y <- u.d [join:t.a join:u.a] tables=u star=full
--! UNKNOWN_COLUMN warning there is no column a in t

-- spark | t(a, b, c); u(a, d); w(e)
merge into t using (select a, sum(d) s from u group by a) q on t.a=q.a when matched then update set t.b = q.s
--> MERGE t: b <- u.d [join:t.a join:u.a] tables=u

-- postgres | t(a, b, c); u(a, d); w(e)
delete from t using u where t.a = u.a and u.d = 1
--> DELETE t: [filter:t.a filter:u.a filter:u.d] tables=u

-- spark | t(a, b, c); u(a, d); w(e)
delete from t where a in (select e from w)
--> DELETE t: [filter:t.a filter:w.e] tables=w

-- tsql | t(a, b, c); u(a, d); w(e)
delete x from t x join u on u.a = x.a where u.d=2
--> DELETE t: [filter:u.d join:t.a join:u.a] tables=u

-- databricks |
create table n (id int, x int generated always as (id * 2)); select * from n
--> CREATE_TABLE n: x <- n.id tables=n
--> SELECT : id <- n.id | x <- n.x tables=n star=full

-- spark | t(a, b, c); u(a, d); w(e)
create temp view v as select * from t; select * from v; drop view v; select * from v
--> CREATE_VIEW v: a <- t.a | b <- t.b | c <- t.c tables=t star=full
--> SELECT : a <- v.a | b <- v.b | c <- v.c tables=v star=full
--> DROP :
--> SELECT : tables=v~ star=none
--! UNKNOWN_TABLE warning the columns of v are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of v are not known

-- spark | t(a, b, c); u(a, d); w(e)
create table n like t; select * from n
--> CREATE_TABLE n:
--> SELECT : a <- n.a | b <- n.b | c <- n.c tables=n star=full

-- postgres | t(a, b, c); u(a, d); w(e)
create table n (like t, z int); select * from n
--> CREATE_TABLE n:
--> SELECT : a <- n.a | b <- n.b | c <- n.c | z <- n.z tables=n star=full

-- snowflake | T(A,B)
create table n clone t; select * from n
--> CREATE_TABLE_AS N: A <- T.A | B <- T.B tables=T
--> SELECT : A <- N.A | B <- N.B tables=N star=full

-- spark |
create table n (a int, b int); alter table n add column c int; alter table n drop column a; alter table n rename column b to bb; select * from n; alter table n rename to m; select * from m; select * from n
--> CREATE_TABLE n:
--> ALTER :
--> ALTER :
--> ALTER : n.bb <- n.b tables=n
--> SELECT : bb <- n.bb | c <- n.c tables=n star=full
--> ALTER : m.bb <- n.bb | m.c <- n.c tables=n
--> SELECT : bb <- m.bb | c <- m.c tables=m star=full
--> SELECT : tables=n~ star=none
--! UNKNOWN_TABLE info the columns of n are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of n are not known

-- spark | t(a, b, c); u(a, d); w(e)
alter table t add column z int; select * from t
--> ALTER :
--> SELECT : a <- ~t.a | b <- ~t.b | c <- ~t.c tables=t star=full
--! SCHEMA_MISMATCH warning t differs from the imported schema (only in the script: z); the imported columns are used

-- spark | t(a, b, c); u(a, d); w(e)
create table t (a int, b int, c int, z int); select * from t; select a from t
--> CREATE_TABLE t:
--> SELECT : a <- ~t.a | b <- ~t.b | c <- ~t.c tables=t star=full
--> SELECT : a <- t.a tables=t
--! SCHEMA_MISMATCH warning t differs from the imported schema (only in the script: z); the imported columns are used

-- spark |
create table n as select *, 1 as k from zzz; select * from n; select x, k from n; create view v2 as select * from n; select * from v2
--> CREATE_TABLE_AS n: k <- tables=zzz~ star=none
--> SELECT : k <- ~n.k tables=n~ star=partial
--> SELECT : x <- n.x | k <- n.k tables=n
--> CREATE_VIEW v2: k <- ~n.k tables=n~ star=partial
--> SELECT : k <- ~v2.k tables=v2~ star=partial
--! UNKNOWN_TABLE info the columns of zzz are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of zzz are not known
--! APPROXIMATE_LINEAGE info the star stands for more columns than are known: those of n are missing
--! APPROXIMATE_LINEAGE info the star stands for more columns than are known: those of n are missing
--! APPROXIMATE_LINEAGE info the star stands for more columns than are known: those of v2 are missing

-- spark |
create view v (x, y) as select * from zzz; select * from v
--> CREATE_VIEW v: x <- | y <- tables=zzz~ star=none
--> SELECT : x <- v.x | y <- v.y tables=v star=full
--! UNKNOWN_TABLE info the columns of zzz are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of zzz are not known

-- databricks |
create table if not exists n (a int); create table if not exists n (b int); create or replace table n (c int); select * from n
--> CREATE_TABLE n:
--> CREATE_TABLE n:
--> CREATE_TABLE n:
--> SELECT : c <- n.c tables=n star=full

-- spark | t(a, b, c); u(a, d); w(e)
cache table c1 as select a from t; select * from c1
--> CACHE_TABLE c1: a <- t.a tables=t
--> SELECT : a <- c1.a tables=c1 star=full

-- postgres | t(a, b, c); u(a, d); w(e)
select a into n from t; select * from n
--> CREATE_TABLE_AS n: a <- t.a tables=t
--> SELECT : a <- n.a tables=n star=full

-- spark | t(a, b, c); u(a, d); w(e)
select a, d from t, u where t.a = u.a
--> SELECT : a <- ~t.a, ~u.a | d <- u.d [filter:t.a filter:u.a] tables=t,u
--! AMBIGUOUS_COLUMN error a can be a column of t or u

-- spark | app.orders(id, x)
use app; select * from orders; create table z as select id from orders; select * from z
--> USE :
--> SELECT : id <- app.orders.id | x <- app.orders.x tables=app.orders star=full
--> CREATE_TABLE_AS app.z: id <- app.orders.id tables=app.orders
--> SELECT : id <- app.z.id tables=app.z star=full

-- postgres | app.orders(id)
select * from orders
--> SELECT : tables=orders~ star=none
--! UNKNOWN_TABLE warning the columns of orders are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of orders are not known

-- postgres | Users(Id, id)
select "Id", id from "Users"
--> SELECT : Id <- Users.Id | id <- Users.id tables=Users

-- postgres | Users(Id)
select Id from users
--> SELECT : id <- Users.Id tables=Users

-- snowflake | users(id)
select id from USERS
--> SELECT : ID <- users.id tables=users

-- bigquery | Users(id)
select ID from Users u
--> SELECT : ID <- Users.id tables=Users

-- bigquery | Users(id)
select ID from users u
--> SELECT : ID <- users.ID tables=users
--! UNKNOWN_TABLE warning the columns of users are not known

-- spark | t(a, b, c); u(a, d); w(e)
select * from t union select a, d, 1 from u
--> SELECT : a <- t.a, u.a | b <- t.b, u.d | c <- t.c tables=t,u star=full

-- spark | t(a, b, c); u(a, d); w(e)
select a from t union all select d, 1 from u
--> SELECT : a <- t.a, u.d tables=t,u
--! SET_OPERATION_MISMATCH error the branches of this set operation have 1 and 2 columns

-- spark | t(a, b, c); u(a, d); w(e)
select * from zzz union all select * from t
--> SELECT : tables=zzz~,t star=partial
--! UNKNOWN_TABLE warning the columns of zzz are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of zzz are not known

-- duckdb | t(a, b, c); u(a, d); w(e)
select a, b from t union all by name select a, d as b from u
--> SELECT : a <- t.a, u.a | b <- t.b, u.d tables=t,u

-- spark |
select id from (select * from zzz union all select * from yyy)
--> SELECT : id <- zzz.id, ~yyy.id tables=zzz~,yyy~ star=none
--! UNKNOWN_TABLE info the columns of zzz are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of zzz are not known
--! UNKNOWN_TABLE info the columns of yyy are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of yyy are not known

-- duckdb | t(a, b, c); u(a, d); w(e)
copy (select a from t) to 'x.parquet'
--> COPY x.parquet: a <- t.a tables=t

-- clickhouse | t(arr)
select x, arr from t array join arr as x
--> SELECT : x <- t.arr | arr <- t.arr tables=t

-- spark | t(a, b, c); u(a, d); w(e)
selec 1; select a from t; create table (; select b from t
--> UNKNOWN :
--> SELECT : a <- t.a tables=t
--> UNKNOWN :
--> SELECT : b <- t.b tables=t
--! PARSE_ERROR error Invalid expression / Unexpected token
--! PARSE_ERROR error Expected table name but got (

-- snowflake | T(A,B)
select f.value:x::string, f.key from t, lateral flatten(input => t.b) f
--> SELECT : CAST(get_path(f.value, 'x') AS VARCHAR) <- T.B | KEY <- T.B tables=T

-- postgres |
select g from generate_series(1,3) g
--> SELECT : g <-

-- postgres |
select v.a from (values (1,2)) v(a,b)
--> SELECT : a <-

-- spark |
select * from values (1,2)
--> SELECT : col1 <- | col2 <- star=full

-- postgres | t(a, b, c); u(a, d); w(e)
select x.n from t, lateral (select max(d) as n from u where u.a = t.a) x
--> SELECT : n <- u.d [filter:t.a filter:u.a] tables=t,u

-- tsql | t(a, b); u(a, b)
UPDATE TOP (@n) t SET a = b WHERE a = 0; DELETE TOP (10) PERCENT FROM t WHERE a = 1; INSERT TOP (5) INTO t (a) SELECT b FROM u; WITH c AS (SELECT a, b FROM u) UPDATE TOP (3) t SET a = c.b FROM t JOIN c ON t.a = c.a
--> UPDATE t: a <- t.b [filter:t.a] tables=t
--> DELETE t: [filter:t.a]
--> INSERT t: a <- u.b tables=u
--> UPDATE t: a <- u.b [join:t.a join:u.a] tables=u

-- tsql | t(a, b); u(a, b)
MERGE TOP (10) INTO t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = u.b; DELETE TOP (10) t WHERE a = 1; SELECT TOP (10) a FROM t
--> MERGE t: b <- u.b [join:t.a join:u.a] tables=u
--> DELETE t: [filter:t.a]
--> SELECT : a <- t.a tables=t
