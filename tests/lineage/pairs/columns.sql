-- duckdb | t(id, age, b)
SELECT COLUMNS('id|age') + b FROM t
--> SELECT : id <- t.id, t.b | age <- t.age, t.b tables=t star=full

-- duckdb | t(id, age, b)
SELECT max(COLUMNS('id|age')) AS m, min(COLUMNS(*)) FROM t
--> SELECT : m <- t.id | m <- t.age | id <- t.id | age <- t.age | b <- t.b tables=t star=full

-- duckdb | t(id, age, b)
SELECT coalesce(*COLUMNS('id|age')) AS c, COLUMNS(['id', 'b']), COLUMNS(x -> x LIKE 'a%') FROM t
--> SELECT : c <- t.id, t.age | id <- t.id | b <- t.b | age <- t.age tables=t star=full

-- duckdb | t(id, age, b)
SELECT id FROM t WHERE COLUMNS('id|age') > 1
--> SELECT : id <- t.id [filter:t.age filter:t.b filter:t.id] tables=t

-- postgres | w(d, e); x(a, b); y(b, c)
SELECT * FROM w, x JOIN y USING (b)
--> SELECT : d <- w.d | e <- w.e | b <- x.b | a <- x.a | c <- y.c [join:x.b join:y.b] tables=w,x,y star=full

-- spark | x(a, b); y(b, c)
SELECT * FROM x LEFT SEMI JOIN y USING (b)
--> SELECT : b <- x.b | a <- x.a [join:x.b join:y.b] tables=x,y star=full

-- spark | x(a, b); y(b, c); z(a, q)
SELECT a, b FROM x LEFT ANTI JOIN y USING (b) JOIN z USING (a)
--> SELECT : a <- x.a | b <- x.b [join:x.a join:x.b join:y.b join:z.a] tables=x,y,z

-- duckdb | x(a, b); y(b, c)
SELECT * EXCLUDE (y.b) FROM x JOIN y ON x.b = y.b; SELECT y.* EXCLUDE (y.b) FROM x JOIN y USING (b)
--> SELECT : a <- x.a | b <- x.b | c <- y.c [join:x.b join:y.b] tables=x,y star=full
--> SELECT : c <- y.c [join:x.b join:y.b] tables=x,y star=full

-- clickhouse |
SELECT * FROM VALUES (1, 2, 3); SELECT * FROM VALUES ((1, 1), (2, 2))
--> SELECT : c1 <- star=full
--> SELECT : c1 <- | c2 <- star=full
