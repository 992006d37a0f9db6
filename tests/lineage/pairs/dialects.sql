-- snowflake | t(a, b, c); u(a, d); w(e)
select * from (select a, b from t) pivot (sum(b) for a in ('p','q'))
--> SELECT : 'p' <- t.b, conditional t.a | 'q' <- t.b, conditional t.a tables=t star=full

-- mysql | t(a, b, c); u(a, d); w(e)
insert into t (a,b) select a, d from u on duplicate key update b = values(b) + t.b, c = 1
--> INSERT t: a <- u.a | b <- u.d, t.b tables=u,t

-- duckdb | t(a, b, c); u(a, d); w(e)
unpivot t on b, c into name n value v
--> SELECT : a <- t.a | n <- | v <- t.b, t.c tables=t

-- snowflake | T(A,B,C)
select percentile_cont(0.5) within group (order by a) p, array_agg(a order by b) g, max_by(a, b) m, listagg(a, ',') within group (order by c) l from t
--> SELECT : P <- T.A, window T.A | G <- T.A, window T.B | M <- T.A, T.B | L <- T.A, window T.C tables=T

-- snowflake | T(A,B,C)
select sum(a) filter (where b > 1) s, case a when b then c else 1 end k, nvl2(a,b,c) n, decode(a,1,b,c) d, iff(a>1,b,c) i, coalesce(a,b) co, nullif(a,b) nu from t
--> SELECT : S <- T.A, conditional T.B | K <- conditional T.A, conditional T.B, T.C | N <- conditional T.A, T.B, T.C | D <- T.C, T.B, conditional T.A | I <- conditional T.A, T.B, T.C | CO <- T.A, T.B | NU <- T.A, T.B tables=T

-- spark | t(a, b, c); u(a, d); w(e)
select transform(a, x -> x + b) x, filter(a, y -> y > c) f, aggregate(a, 0, (acc, z) -> acc + z + b) g from t
--> SELECT : x <- t.a, t.b | f <- t.a, t.c | g <- t.a, t.b tables=t

-- duckdb | t(a, b, c); u(a, d); w(e)
select [x + b for x in a if x > c] z, list_transform(a, q -> q + c) l, {'k': a, 'm': b} s, a[1:2] sl from t
--> SELECT : z <- t.b, t.c, t.a | l <- t.a, t.c | s <- t.a, t.b | sl <- t.a tables=t

-- snowflake | T(A,B,C)
select t.a:x.y::string v, b['k'] k, parse_json(c):z q from t
--> SELECT : V <- T.A | K <- T.B | Q <- T.C tables=T

-- postgres | t(a, b, c); u(a, d); w(e)
select a->>'x' j, (b).f g, t.* from t
--> SELECT : j <- t.a | g <- t.b.f | a <- t.a | b <- t.b | c <- t.c tables=t star=full

-- snowflake | T(A,B,C)
select date_trunc('month', a) m, extract(year from b) y, datediff(day, a, b) d, dateadd(hour, 1, c) h from t
--> SELECT : M <- T.A | Y <- T.B | D <- T.B, T.A | H <- T.C tables=T

-- bigquery | t(a, b, c); u(a, d); w(e)
select timestamp_diff(a, b, DAY) d, date_trunc(c, MONTH) m, safe_cast(a as int64) s, format_date('%Y', b) f from t
--> SELECT : d <- t.a, t.b | m <- t.c | s <- t.a | f <- t.b tables=t

-- tsql | t(a, b, c); u(a, d); w(e)
select datediff(day, a, b) d, datepart(year, c) p, convert(varchar(10), a) v, isnull(b, c) i, [x] = a + 1 from t
--> SELECT : d <- t.b, t.a | p <- t.c | v <- t.a | i <- t.b, t.c | x <- t.a tables=t

-- tsql | t(a, b, c); u(a, d); w(e)
select top 5 a from t cross apply (select max(d) m from u where u.a = t.a) q where q.m > 1
--> SELECT : a <- t.a [filter:t.a filter:u.a filter:u.d] tables=t,u

-- oracle | T(A,B)
select a, prior b pb, level l, rownum r, sysdate s from t start with a = 1 connect by prior a = b
--> SELECT : A <- T.A | PB <- T.B | L <- | R <- | S <- [filter:T.A filter:T.B] tables=T

-- oracle | T(A); U(A)
select t.a from t, u where t.a = u.a(+)
--> SELECT : A <- T.A [filter:T.A filter:U.A] tables=T,U

-- clickhouse | t(a, b, c); u(a, d); w(e)
select a, b from t final prewhere c = 1 where a > 1 limit 1 by a
--> SELECT : a <- t.a | b <- t.b [filter:t.a filter:t.c] tables=t

-- clickhouse | t(a, b, c); u(a, d); w(e)
select toDate(a) as day, sum(b) as total, total / 2 as half from t group by day
--> SELECT : day <- t.a | total <- t.b | half <- t.b tables=t

-- trino | t(a, b, c); u(a, d); w(e)
select v, n from t cross join unnest(a, b) with ordinality as x(v, w2, n)
--> SELECT : v <- t.a | n <- tables=t

-- trino | t(a, b, c); u(a, d); w(e)
select x.* from t cross join unnest(t.a) as x
--> SELECT : x <- t.a tables=t star=full

-- spark | t(a, b, c); u(a, d); w(e)
select a from t tablesample (10 percent) x where x.b > 1
--> SELECT : a <- t.a [filter:t.b] tables=t

-- databricks | t(a, b, c); u(a, d); w(e)
select a from t version as of 3
--> SELECT : a <- t.a tables=t

-- postgres | t(a, b, c); u(a, d); w(e)
select distinct on (b) a from t order by b, c
--> SELECT : a <- t.a tables=t

-- duckdb | t(a, b, c); u(a, d); w(e)
select a, sum(b) from t group by all
--> SELECT : a <- t.a | sum(b) <- t.b tables=t

-- duckdb | t(a, b, c); u(a, d); w(e)
from t select a where b > 1
--> SELECT : a <- t.a [filter:t.b] tables=t

-- duckdb | t(a, b, c); u(a, d); w(e)
from t
--> SELECT : a <- t.a | b <- t.b | c <- t.c tables=t star=full

-- spark |
select a.x from a.b.c
--> SELECT : x <- ~a.b.c.a.x tables=a.b.c
--! UNKNOWN_TABLE info the columns of a.b.c are not known
--! UNRESOLVED_REFERENCE info nothing here is called a: a.x is taken for a field of a column

-- spark |
select b.c.x, c.y from b.c
--> SELECT : x <- b.c.x | y <- b.c.y tables=b.c
--! UNKNOWN_TABLE info the columns of b.c are not known

-- spark |
select a.b.c.d from a.b.c
--> SELECT : d <- a.b.c.d tables=a.b.c
--! UNKNOWN_TABLE info the columns of a.b.c are not known

-- spark |
select unknownalias.x from t1, t2
--> SELECT : x <- tables=t1,t2
--! UNKNOWN_TABLE info the columns of t1 are not known
--! UNKNOWN_TABLE info the columns of t2 are not known
--! UNRESOLVED_REFERENCE error unknownalias.x does not name anything that this query reads

-- spark | t(a, b, c); u(a, d); w(e)
select s.x from (select struct(a as x, b as y) s from t)
--> SELECT : x <- t.a tables=t

-- spark |
select id from t1 where exists (select 1 from t2 where t2.id = t1.id)
--> SELECT : id <- t1.id [filter:t1.id filter:t2.id] tables=t1,t2
--! UNKNOWN_TABLE info the columns of t1 are not known
--! UNKNOWN_TABLE info the columns of t2 are not known

-- postgres |
select id, (select name from t2 where t2.tid = id) n from t1
--> SELECT : id <- t1.id | n <- t2.name [filter:t2.id filter:t2.tid] tables=t1,t2
--! UNKNOWN_TABLE info the columns of t1 are not known
--! UNKNOWN_TABLE info the columns of t2 are not known

-- spark | t(a, b, c); u(a, d); w(e)
select * from (select * from t) x join (select * from zzz) y on x.a=y.a
--> SELECT : a <- ~t.a | b <- ~t.b | c <- ~t.c [join:t.a join:zzz.a] tables=t,zzz~ star=partial
--! UNKNOWN_TABLE warning the columns of zzz are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of zzz are not known
--! APPROXIMATE_LINEAGE info the star stands for more columns than are known: those of zzz are missing

-- spark | t(a, b, c); u(a, d); w(e)
select x.a, y.q from (select * from t) x join (select * from zzz) y on x.a=y.a
--> SELECT : a <- t.a | q <- zzz.q [join:t.a join:zzz.a] tables=t,zzz~ star=partial
--! UNKNOWN_TABLE warning the columns of zzz are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of zzz are not known

-- spark | t(a, b, c); u(a, d); w(e)
select q from (select * from t) x join (select * from zzz) y on x.a=y.a
--> SELECT : q <- zzz.q [join:t.a join:zzz.a] tables=t,zzz~ star=partial
--! UNKNOWN_TABLE warning the columns of zzz are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of zzz are not known

-- bigquery |
with a1 as (select * except (k) from zzz) select k, m from a1
--> SELECT : k <- | m <- zzz.m tables=zzz~ star=none
--! UNKNOWN_TABLE info the columns of zzz are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of zzz are not known
--! UNKNOWN_COLUMN warning there is no column k

-- spark | t(a, b, c); u(a, d); w(e)
with x as (select a, b from t), y as (select * from x where b > 1) select y.a, max(x.b) over () mb from x join y on x.a=y.a
--> SELECT : a <- t.a | mb <- t.b [filter:t.b join:t.a] tables=t star=full

-- postgres | t(a, b, c); u(a, d); w(e)
select * from t as x(p, q, r)
--> SELECT : p <- t.a | q <- t.b | r <- t.c tables=t star=full

-- spark | t(a, b, c); u(a, d); w(e)
select * from (select a, a as a2, b as a from t) q
--> SELECT : a <- t.a | a2 <- t.a | a <- t.b tables=t star=full

-- spark | t(a, b, c); u(a, d); w(e)
select a from (select a, b as a from t) q
--> SELECT : a <- ~t.a, ~t.b tables=t
--! AMBIGUOUS_COLUMN error several columns that this query reads are called a

-- spark | t(a, b, c); u(a, d); w(e)
create or replace view v as select a from t; create or replace view v as select a, b from t; select * from v
--> CREATE_VIEW v: a <- t.a tables=t
--> CREATE_VIEW v: a <- t.a | b <- t.b tables=t
--> SELECT : a <- v.a | b <- v.b tables=v star=full

-- postgres | t(a, b, c); u(a, d); w(e)
create temporary table tt (x int); insert into tt select a from t; select * from tt
--> CREATE_TABLE tt:
--> INSERT tt: x <- t.a tables=t
--> SELECT : x <- tt.x tables=tt star=full

-- tsql | t(a, b, c); u(a, d); w(e)
create table #x (i int); insert into #x select a from t; select * from #x; drop table #x; select * from #x
--> CREATE_TABLE #x:
--> INSERT #x: i <- t.a tables=t
--> SELECT : i <- #x.i tables=#x star=full
--> DROP :
--> SELECT : tables=#x~ star=none
--! UNKNOWN_TABLE warning the columns of #x are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of #x are not known

-- spark | t(a, b, c); u(a, d); w(e)
alter table t rename column a to z; select * from t; select z from t
--> ALTER : t.z <- t.a tables=t
--> SELECT : a <- ~t.a | b <- ~t.b | c <- ~t.c tables=t star=full
--> SELECT : z <- ~t.z tables=t
--! SCHEMA_MISMATCH warning t differs from the imported schema (only in the script: z; only imported: a); the imported columns are used
--! UNKNOWN_COLUMN warning there is no column z in t

-- spark |
create table n(a int); alter table n add column b int first; alter table n add columns (c int, d string); alter table n change column c cc bigint; alter table n drop columns (d); select * from n
--> CREATE_TABLE n:
--> ALTER :
--> ALTER :
--> ALTER : n.cc <- n.c tables=n
--> ALTER :
--> SELECT : b <- n.b | a <- n.a | cc <- n.cc tables=n star=full

-- mysql |
create table n(a int); alter table n change a aa int; alter table n modify aa bigint; alter table n add column q int after aa, add z int; rename table n to m; select * from m
--> CREATE_TABLE n:
--> ALTER : n.aa <- n.a tables=n
--> ALTER :
--> ALTER :
--> ALTER : m.aa <- n.aa | m.q <- n.q | m.z <- n.z tables=n
--> SELECT : aa <- m.aa | q <- m.q | z <- m.z tables=m star=full

-- tsql |
exec sp_rename 'n.a', 'b', 'COLUMN'; select 1
--> ALTER : n.b <- n.a tables=n
--> SELECT : <-

-- databricks | t(a, b, c); u(a, d); w(e)
explain select a from t; show tables; describe t; set x=1; grant select on t to u; begin; commit; vacuum t; optimize t
--> EXPLAIN :
--> SHOW :
--> DESCRIBE :
--> SET :
--> GRANT :
--> TRANSACTION :
--> COMMIT :
--> VACUUM :
--> OPTIMIZE :

-- postgres | t(a, b, c); u(a, d); w(e)
begin; insert into t select a, d, 1 from u; end;
--> TRANSACTION :
--> INSERT t: a <- u.a | b <- u.d | c <- tables=u

-- tsql | t(a, b, c); u(a, d); w(e)
begin select a from t; select b from t; end
--> SELECT : a <- t.a tables=t
--> SELECT : b <- t.b tables=t

-- spark | t(a, b, c); u(a, d); w(e)
truncate table t; load data inpath 'x' into table t; create function f as 'x'; call p(1)
--> TRUNCATE t:
--> LOAD_DATA t:
--> CREATE_FUNCTION :
--> CALL :
--! UNSUPPORTED_SYNTAX warning this function has no body that is known, and is not analysed
--! UNSUPPORTED_SYNTAX warning this CALL is not analysed

-- postgres | t(a, b, c); u(a, d); w(e)
with x as (insert into t(a) select a from u returning a) select * from x
--> INSERT t: a <- u.a tables=u
--> SELECT : a <- t.a tables=t star=full

-- spark | t(a, b, c); u(a, d); w(e)
insert overwrite directory '/x' select a from t
--> INSERT /x: a <- t.a tables=t

-- postgres | t(a, b, c); u(a, d); w(e)
create view v as select a from t with check option
--> CREATE_VIEW v: a <- t.a tables=t

-- snowflake | t(a, b, c); u(a, d); w(e)
select * from t match_recognize (partition by a order by b measures first(c) as m pattern (x+) define x as d > 1)
--> SELECT : a <- ~t.a | b <- ~t.b | c <- ~t.c tables=t star=full
--! UNSUPPORTED_SYNTAX warning MATCH_RECOGNIZE is not followed: its columns are approximate

-- spark |
;;; -- c

-- spark |
select
--> SELECT :
