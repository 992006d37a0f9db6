-- postgres | t(a, b, c); u(a, d); w(e)
with x as (insert into t(a) select a from u returning a) select * from x
--> INSERT t: a <- u.a tables=u
--> SELECT : a <- t.a tables=t star=full

-- postgres | t(a, b, c); u(a, d); w(e)
with gone as (delete from t where a > 1 returning a, b) insert into w select b from gone
--> DELETE t: [filter:t.a]
--> INSERT w: e <- t.b tables=t

-- postgres | t(a, b, c); u(a, d); w(e)
with s as (select * from u), up as (update t set b = s.d from s where s.a = t.a returning t.a) select a from up
--> UPDATE t: b <- u.d [filter:t.a filter:u.a] tables=u star=full
--> SELECT : a <- t.a tables=t

-- oracle |
select 1 as x from dual
--> SELECT : X <-

-- mysql | t(a, b, c); u(a, d); w(e)
select a from t, dual
--> SELECT : a <- t.a tables=t

-- spark | t(a, b, c); u(a, d); w(e)
create global temporary view g as select a from t; select * from global_temp.g
--> CREATE_VIEW g: a <- t.a tables=t
--> SELECT : a <- g.a tables=g star=full

-- snowflake | U(A, D)
merge into nn using u on nn.a = u.a when not matched then insert values (u.a, u.d)
--> MERGE NN: A <- U.A | D <- U.D [join:NN.A join:U.A] tables=U
--! UNKNOWN_TABLE info the columns of the target NN are not known

-- snowflake | T(A,B,C); U(A,D)
select a, b from t where a = (select max(a) from u) or b in (select d from u) qualify row_number() over (partition by c order by b) = 1
--> SELECT : A <- T.A | B <- T.B [filter:T.A filter:T.B filter:T.C filter:U.A filter:U.D] tables=T,U

-- spark | t(a, b, c); u(a, d); w(e)
select x.*, y.d from t x left join u y on x.a = y.a and y.d > x.b
--> SELECT : a <- t.a | b <- t.b | c <- t.c | d <- u.d [join:t.a join:t.b join:u.a join:u.d] tables=t,u star=full

-- databricks | t(a, b, c); u(a, d); w(e)
select t.* except (b) from t
--> SELECT : a <- t.a | c <- t.c tables=t star=full

-- duckdb | t(a, b, c); u(a, d); w(e)
select * replace (upper(b) as b) exclude (c) from t
--> SELECT : tables=t~
--! PARSE_ERROR error Invalid expression / Unexpected token

-- snowflake | T(A,B)
select * rename (a as aa) from t
--> SELECT : AA <- T.A | B <- T.B tables=T star=full

-- spark | t(a, b, c); u(a, d); w(e)
select * from t except select * from t where a > 1
--> SELECT : a <- t.a | b <- t.b | c <- t.c [filter:t.a] tables=t star=full

-- spark | t(a, b, c); u(a, d); w(e)
insert into w select d from u union all select a from t
--> INSERT w: e <- u.d, t.a tables=u,t

-- spark | t(a, b, c); u(a, d); w(e)
create view v as select a, count(*) as n from t group by a having count(*) > 1; insert into w select n from v
--> CREATE_VIEW v: a <- t.a | n <- tables=t
--> INSERT w: e <- v.n tables=v

-- spark | t(a, b, c); u(a, d); w(e)
create table x as select * from t; alter table x add column z int; insert into x select a, b, c, d from t join u using (a)
--> CREATE_TABLE_AS x: a <- t.a | b <- t.b | c <- t.c tables=t star=full
--> ALTER :
--> INSERT x: a <- t.a | b <- t.b | c <- t.c | z <- u.d [join:t.a join:u.a] tables=t,u

-- mysql |
create table x (id int); create table x2 like x; drop table x; select * from x2
--> CREATE_TABLE x:
--> CREATE_TABLE x2:
--> DROP :
--> SELECT : id <- x2.id tables=x2 star=full

-- spark |
select a.b, a.c from a
--> SELECT : b <- a.b | c <- a.c tables=a
--! UNKNOWN_TABLE info the columns of a are not known

-- spark | a(x); b(y)
select a.* from a, b
--> SELECT : x <- a.x tables=a,b star=full

-- trino | t(a, b, c); u(a, d); w(e)
select coalesce(t.a, u.a) a2, t.b + u.d as s from t full outer join u on t.a = u.a where t.c is not null
--> SELECT : a2 <- t.a, u.a | s <- t.b, u.d [filter:t.c join:t.a join:u.a] tables=t,u

-- redshift | t(a, b, c); u(a, d); w(e)
select a, lag(b) over (partition by c order by a) l, sum(b) over (order by a rows between 1 preceding and current row) s from t
--> SELECT : a <- t.a | l <- t.b, window t.c, window t.a | s <- t.b, window t.a tables=t

-- bigquery | t(a, b, c); u(a, d); w(e)
select p.q1, p.q2, p.c from (select a, b, c from t) pivot (sum(b) for a in ('1' as q1, '2' as q2)) p
--> SELECT : q1 <- t.b, conditional t.a | q2 <- t.b, conditional t.a | c <- t.c tables=t

-- spark | t(a, b, c); u(a, d); w(e)
select * from t unpivot (v for k in (a as 'x', b as 'y'))
--> SELECT : c <- t.c | k <- | v <- t.a, t.b tables=t star=full

-- duckdb | t(a, b, c); u(a, d); w(e)
update t set a = d from u where t.b = u.d
--> UPDATE t: a <- u.d [filter:t.b filter:u.d] tables=u

-- tsql | dbo.t(a,b); u(a,d)
update dbo.t set b = s.d from dbo.t as x inner join u as s on s.a = x.a
--> UPDATE dbo.t: b <- u.d [join:dbo.t.a join:u.a] tables=dbo.t,u

-- spark | t(a, b, c); u(a, d); w(e)
delete from t where exists (select 1 from u where u.a = t.a)
--> DELETE t: [filter:t.a filter:u.a] tables=u

-- postgres | t(a, b, c); u(a, d); w(e)
insert into t (a, b) values (1, (select max(d) from u))
--> INSERT t: a <- | b <- u.d tables=u

-- duckdb | t(a, b, c); u(a, d); w(e)
select cast(a as int) as x, try_cast(b as date) as y, a::text as z from t
--> SELECT : x <- t.a | y <- t.b | z <- t.a tables=t

-- trino | t(a, b, c); u(a, d); w(e)
select m.k, m.v from t cross join unnest(map_entries(a)) as m(k, v)
--> SELECT : k <- t.a | v <- t.a tables=t

-- bigquery | t(a, b, c); u(a, d); w(e)
select json_extract(a, '$.x') j, json_value(b, '$.y') k from t
--> SELECT : j <- t.a | k <- t.b tables=t

-- spark | t(addr)
select s.city from (select addr as s from t)
--> SELECT : city <- t.addr tables=t

-- postgres |
with recursive n as (select 1 as i union all select i + 1 from n where i < 10) select i from n
--> SELECT : i <-

-- tsql | t(a, b, c); u(a, d); w(e)
with n as (select a as i, b from t union all select i + 1, b from n where i < 10) select i, b from n
--> SELECT : i <- t.a | b <- t.b [filter:t.a] tables=t

-- databricks | t(a, b, c); u(a, d); w(e)
create or replace table t2 deep clone t
--> CREATE_TABLE_AS t2: a <- t.a | b <- t.b | c <- t.c tables=t

-- spark | t(a, b, c); u(a, d); w(e)
insert into t select * from t where a > 1
--> INSERT t: a <- t.a | b <- t.b | c <- t.c [filter:t.a] tables=t star=full

-- spark | t(a, b, c); u(a, d); w(e)
select a as x from t order by x; select a from t order by b; select a from t group by a, zz
--> SELECT : x <- t.a tables=t
--> SELECT : a <- t.a tables=t
--> SELECT : a <- t.a tables=t
--! UNKNOWN_COLUMN warning there is no column zz in t

-- spark | t(a, b, c); u(a, d); w(e)
select stack(2, 'a', a, 'b', b) as (k, v) from t
--> SELECT : k <- | v <- t.a, t.b tables=t

-- spark | t(arr)
select inline(arr) from t
--> SELECT : tables=t star=none
--! APPROXIMATE_LINEAGE warning the fields that inline() returns are not known

-- snowflake | T(A); U(A,D)
select t.a, s.x from t lateral join (select max(d) x from u where u.a = t.a) s
--> SELECT : tables=T~,U~
--! PARSE_ERROR error Required keyword: 'this' missing for <class 'sqlglot.expressions.query.Lateral'>

-- postgres | t(id,tags)
select id, unnest(tags) as tag from t
--> SELECT : id <- t.id | tag <- t.tags tables=t

-- spark | t(a, b, c); u(a, d); w(e)
select a from t where a in (select a from u where d = t.b) and not exists (select * from w where e = t.c)
--> SELECT : a <- t.a [filter:t.a filter:t.b filter:t.c filter:u.a filter:u.d filter:w.e] tables=t,u,w
