-- spark | t(a, b, c); u(a, d); w(e)
select * from t right join u using (a)
--> SELECT : a <- u.a | b <- t.b | c <- t.c | d <- u.d [join:t.a join:u.a] tables=t,u star=full

-- spark | t(a, b, c); u(a, d); w(e)
select * from t full join u using (a)
--> SELECT : a <- t.a, u.a | b <- t.b | c <- t.c | d <- u.d [join:t.a join:u.a] tables=t,u star=full

-- postgres | t(a, b, c); u(a, d); w(e)
select a from t full join u using (a)
--> SELECT : a <- t.a, u.a [join:t.a join:u.a] tables=t,u

-- spark | t(a, b, c); u(a, d); w(e)
select t.a, u.a from t join u using (a)
--> SELECT : a <- t.a | a <- u.a [join:t.a join:u.a] tables=t,u

-- spark | t(a, b, c); u(a, d); w(e)
select * from t natural left join u
--> SELECT : a <- t.a | b <- t.b | c <- t.c | d <- u.d [join:t.a join:u.a] tables=t,u star=full

-- spark | t(a, b, c); u(a, d); w(e)
select t.*, u.* from t join u using(a)
--> SELECT : a <- t.a | b <- t.b | c <- t.c | a <- u.a | d <- u.d [join:t.a join:u.a] tables=t,u star=full

-- spark | t(a, b, c); u(a, d); w(e)
select * from t left semi join u on t.a=u.a
--> SELECT : a <- t.a | b <- t.b | c <- t.c [join:t.a join:u.a] tables=t,u star=full

-- spark | t(a, b, c); u(a, d); w(e)
select a from t left anti join u using (a)
--> SELECT : a <- t.a [join:t.a join:u.a] tables=t,u

-- spark | t(a,b); u(d)
select a, d, e from t join zzz on t.a = zzz.a, u
--> SELECT : a <- t.a | d <- u.d | e <- zzz.e [join:t.a join:zzz.a] tables=t,zzz,u
--! UNKNOWN_TABLE warning the columns of zzz are not known

-- spark | t(a, b, c); u(a, d); w(e)
select x from t join zzz on t.a=zzz.a
--> SELECT : x <- zzz.x [join:t.a join:zzz.a] tables=t,zzz
--! UNKNOWN_TABLE warning the columns of zzz are not known

-- spark |
select x from yyy join zzz on 1=1
--> SELECT : x <- ~yyy.x, ~zzz.x tables=yyy,zzz
--! UNKNOWN_TABLE info the columns of yyy are not known
--! UNKNOWN_TABLE info the columns of zzz are not known
--! AMBIGUOUS_COLUMN warning x can be a column of yyy or zzz

-- spark | t(a, b, c); u(a, d); w(e)
select * from t join zzz on t.a=zzz.a
--> SELECT : a <- ~t.a | b <- ~t.b | c <- ~t.c [join:t.a join:zzz.a] tables=t,zzz~ star=partial
--! UNKNOWN_TABLE warning the columns of zzz are not known
--! APPROXIMATE_LINEAGE info the star stands for more columns than are known: those of zzz are missing

-- spark | t(a, b, c); u(a, d); w(e)
select t.*, zzz.* from t join zzz on t.a=zzz.a
--> SELECT : a <- t.a | b <- t.b | c <- t.c [join:t.a join:zzz.a] tables=t,zzz~ star=partial
--! UNKNOWN_TABLE warning the columns of zzz are not known
--! APPROXIMATE_LINEAGE warning the star cannot be expanded: the columns of zzz are not known

-- spark | t(a, b, c); u(a, d); w(e)
select nope, t.nope2, q.a from t
--> SELECT : nope <- ~t.nope | nope2 <- ~t.nope2 | a <- tables=t
--! UNKNOWN_COLUMN warning there is no column nope in t
--! UNKNOWN_COLUMN warning there is no column nope2 in t
--! UNRESOLVED_REFERENCE error q.a does not name anything that this query reads

-- spark | t(a, b, c); u(a, d); w(e)
select a from t join u on t.b=u.d
--> SELECT : a <- ~t.a, ~u.a [join:t.b join:u.d] tables=t,u
--! AMBIGUOUS_COLUMN error a can be a column of t or u

-- postgres | t(a, b, c); u(a, d); w(e)
with recursive r(n, s) as (select a, b from t union all select r.s, r.n + u.d from r join u on u.a = r.n) select n, s from r
--> SELECT : n <- t.a, t.b, u.d | s <- t.b, t.a, u.d [join:t.a join:t.b join:u.a join:u.d] tables=t,u

-- spark | t(a, b, c); u(a, d); w(e)
with t as (select * from t) select * from t
--> SELECT : a <- t.a | b <- t.b | c <- t.c tables=t star=full

-- spark | t(a, b, c); u(a, d); w(e)
with x as (select a from t), y as (with x as (select e as a from w) select a from x) select x.a, y.a as b from x, y
--> SELECT : a <- t.a | b <- w.e tables=t,w

-- spark | t(a, b, c); u(a, d); w(e)
select (select max(d) from u where u.a=t.a) m, exists(select 1 from u where u.a=t.a and d>c) ex, a in (select e from w) i from t
--> SELECT : m <- u.d | ex <- | i <- t.a, w.e [filter:t.a filter:t.c filter:u.a filter:u.d] tables=t,u,w

-- spark | t(a, b, c); u(a, d); w(e)
select a from t where b in (select d from u where u.a = t.c) group by a having max(c) > 1 order by a
--> SELECT : a <- t.a [filter:t.b filter:t.c filter:u.a filter:u.d] tables=t,u

-- databricks | t(a, b, c); u(a, d); w(e)
select a, row_number() over w as r, sum(b) over (partition by c order by a) s from t window w as (partition by b order by c) qualify r = 1
--> SELECT : a <- t.a | r <- window t.b, window t.c | s <- t.b, window t.c, window t.a [filter:t.b filter:t.c] tables=t

-- spark | t(a, b, c); u(a, d); w(e)
select * from t pivot (sum(b) as s for a in (1 as x, 2 as y))
--> SELECT : c <- t.c | x <- t.b, conditional t.a | y <- t.b, conditional t.a tables=t star=full

-- snowflake | t(a, b, c); u(a, d); w(e)
select * from (select a, b from t) pivot (sum(b) for a in ('p','q'))
--> SELECT : 'p' <- t.b, conditional t.a | 'q' <- t.b, conditional t.a tables=t star=full

-- spark | t(a, b, c); u(a, d); w(e)
select * from t unpivot (v for n in (b, c))
--> SELECT : a <- t.a | n <- | v <- t.b, t.c tables=t star=full

-- bigquery | t(a, b, c); u(a, d); w(e)
select * from t unpivot (v for n in (b, c))
--> SELECT : a <- t.a | v <- t.b, t.c | n <- tables=t star=full

-- duckdb | t(a, b, c); u(a, d); w(e)
pivot t on a in (1,2) using sum(b) group by c
--> SELECT : c <- t.c | 1 <- t.b, conditional t.a | 2 <- t.b, conditional t.a tables=t

-- duckdb | t(a, b, c); u(a, d); w(e)
pivot t on a using sum(b)
--> SELECT : c <- t.c tables=t
--! APPROXIMATE_LINEAGE info the columns of this PIVOT depend on the data

-- duckdb | t(a, b, c); u(a, d); w(e)
unpivot t on b, c into name n value v
--> SELECT : a <- t.a | n <- | v <- t.b, t.c tables=t

-- spark | t(a, b, c); u(a, d); w(e)
select a, x, p, q from t lateral view explode(b) e as x lateral view posexplode(c) f as p, q
--> SELECT : a <- t.a | x <- t.b | p <- | q <- t.c tables=t

-- spark | t(a, b, c); u(a, d); w(e)
select explode(b) from t
--> SELECT : col <- t.b tables=t

-- snowflake | t(a, b, c); u(a, d); w(e)
select a as x, x + b as y, y * 2 as z from t
--> SELECT : X <- t.a | Y <- t.a, t.b | Z <- t.a, t.b tables=t

-- postgres | t(a, b, c); u(a, d); w(e)
select a as x, x + b as y from t
--> SELECT : x <- t.a | y <- ~t.x, t.b tables=t
--! UNKNOWN_COLUMN warning there is no column x in t

-- spark | t(a, b, c); u(a, d); w(e)
select a as b, b as z from t
--> SELECT : b <- t.a | z <- t.b tables=t

-- bigquery | t(a, b, c); u(a, d); w(e)
select u.f1, u from t, unnest(t.b) as u
--> SELECT : f1 <- t.b | u <- t.b tables=t

-- spark | t(addr)
select addr.city, t.addr.zip, addr.geo.lat from t
--> SELECT : city <- t.addr.city | zip <- t.addr.zip | lat <- t.addr.geo.lat tables=t

-- bigquery | t(a, b, c); u(a, d); w(e)
select * except (a), b as bb from t
--> SELECT : b <- t.b | c <- t.c | bb <- t.b tables=t star=full

-- snowflake | t(a, b, c); u(a, d); w(e)
select t.* exclude (a), u.* rename (d as dd) replace (a+1 as a) from t join u using (a)
--> SELECT : tables=t~,u~
--! PARSE_ERROR error Invalid expression / Unexpected token

-- duckdb | t(a, b, c); u(a, d); w(e)
select columns('a|b') from t
--> SELECT : a <- t.a | b <- t.b tables=t star=full

-- duckdb | t(a, b, c); u(a, d); w(e)
select * like 'a%' from t
--> SELECT : a <- t.a tables=t star=full

-- bigquery | t(a, b, c); u(a, d); w(e)
select count(*), count(a), count(distinct b), struct(*) s, t from t
--> SELECT : f0_ <- | f1_ <- t.a | f2_ <- t.b | s <- t.a, t.b, t.c | t <- t.a, t.b, t.c tables=t
