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
