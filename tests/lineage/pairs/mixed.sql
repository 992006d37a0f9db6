-- spark | t(a, b, c); u(a, d); w(e)
select t.a, x, d, y from t lateral view explode(b) e as x join u on u.a = e.x lateral view explode(d) f as y
--> SELECT : a <- t.a | x <- t.b | d <- u.d | y <- u.d [join:t.b join:u.a] tables=t,u

-- spark | t(a, b, c); u(a, d); w(e)
with q as (select a, d from u) from q insert into w select d where a > 1 insert overwrite table t select a, d, 1
--> INSERT w: e <- u.d [filter:u.a] tables=u
--> INSERT t: a <- u.a | b <- u.d | c <- tables=u

-- spark | t(a, b, c); u(a, d); w(e)
select * from (select a from t union select d from u) x where x.a in (select e from w union all select a from t)
--> SELECT : a <- t.a, u.d [filter:t.a filter:u.d filter:w.e] tables=t,u,w star=full

-- postgres | t(a, b, c); u(a, d); w(e)
select v.x, v.y from (values (1, 'a'), (2, 'b')) as v(x, y) join t on t.a = v.x
--> SELECT : x <- | y <- [join:t.a] tables=t

-- postgres | t(a, b, c); u(a, d); w(e)
select a, (with z as (select max(d) m from u) select m from z) mm from t
--> SELECT : a <- t.a | mm <- u.d tables=t,u

-- spark | t(a, b, c); u(a, d); w(e)
select t.a from t join (select a, max(d) md from u group by a) m on m.a = t.a and m.md = t.b
--> SELECT : a <- t.a [join:t.a join:t.b join:u.a join:u.d] tables=t,u

-- postgres | t(a, b, c); u(a, d); w(e)
select * from t natural join u natural join w
--> SELECT : a <- t.a | b <- t.b | c <- t.c | d <- u.d | e <- w.e [join:t.a join:u.a] tables=t,u,w star=full

-- spark | t(a, b, c); u(a, d); w(e)
select x.a, y.a from t x, t y where x.b = y.c
--> SELECT : a <- t.a | a <- t.a [filter:t.b filter:t.c] tables=t

-- spark | t(a, b, c); u(a, d); w(e)
insert into w select e from w where e not in (select a from t)
--> INSERT w: e <- w.e [filter:t.a filter:w.e] tables=w,t

-- bigquery | t(a, b, c); u(a, d); w(e)
select u.* from t join u on t.a = u.a
--> SELECT : a <- u.a | d <- u.d [join:t.a join:u.a] tables=t,u star=full

-- trino | t(a, b, c); u(a, d); w(e)
select first_value(a) over (partition by b order by c rows between unbounded preceding and current row) f, ntile(4) over (order by a) n from t
--> SELECT : f <- t.a, window t.b, window t.c | n <- window t.a tables=t

-- spark | t(a, b, c); u(a, d); w(e)
merge into t as x using (select * from u where d > 1) as y on x.a = y.a when matched and y.d <> x.b then update set b = y.d, c = x.c + 1 when not matched then insert (a, b, c) values (y.a, y.d, current_date())
--> MERGE t: b <- u.d | c <- t.c | a <- u.a [filter:u.d join:t.a join:t.b join:u.a join:u.d] tables=u,t star=full
