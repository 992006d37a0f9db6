-- databricks | t(a, b); s.u(a)
SELECT a FROM IDENTIFIER('t'); INSERT INTO IDENTIFIER('s' || '.u') SELECT b FROM t; UPDATE IDENTIFIER('t') SET a = b; DELETE FROM identifier('t') WHERE b = 1
--> SELECT : a <- t.a tables=t
--> INSERT s.u: a <- t.b tables=t
--> UPDATE t: a <- t.b tables=t
--> DELETE t: [filter:t.b]

-- spark | t(a, b)
CREATE TABLE IDENTIFIER('db.n') AS SELECT IDENTIFIER('t.a') AS x, IDENTIFIER('max')(b) AS m FROM t GROUP BY 1; SELECT * FROM db.n
--> CREATE_TABLE_AS db.n: x <- t.a | m <- t.b tables=t
--> SELECT : x <- db.n.x | m <- db.n.m tables=db.n star=full

-- spark | t(a, b)
MERGE INTO IDENTIFIER('t') AS x USING IDENTIFIER(:new) AS y ON x.a = y.a WHEN MATCHED THEN UPDATE SET b = y.b
--> MERGE t: b <- IDENTIFIER(:new).b [join:IDENTIFIER(:new).a join:t.a] tables=IDENTIFIER(:new)
--! UNKNOWN_TABLE warning the columns of IDENTIFIER(:new) are not known

-- databricks | t(a, b)
INSERT INTO IDENTIFIER(:db || '.x') SELECT a FROM t; UPDATE IDENTIFIER(?) SET a = 1; SELECT IDENTIFIER(:column) FROM t; SELECT a FROM IDENTIFIER(var)
--> INSERT IDENTIFIER(:db || '.x'): a <- t.a tables=t
--> UPDATE IDENTIFIER(?):
--> SELECT : identifier(:column) <- tables=t
--> SELECT : a <- IDENTIFIER(var).a tables=IDENTIFIER(var)
--! UNKNOWN_TABLE info the columns of the target IDENTIFIER(:db || '.x') are not known
--! UNKNOWN_TABLE info the columns of the target IDENTIFIER(?) are not known
--! UNKNOWN_TABLE warning the columns of IDENTIFIER(var) are not known

-- snowflake | T(A, B)
SELECT a FROM IDENTIFIER(t); DELETE FROM IDENTIFIER($old) WHERE a = 1; INSERT INTO IDENTIFIER('"t"') SELECT b FROM IDENTIFIER('db.t')
--> SELECT : A <- T.A tables=T
--> DELETE IDENTIFIER($old): [filter:IDENTIFIER($old).A]
--> INSERT t: B <- DB.T.B tables=DB.T
--! UNKNOWN_TABLE info the columns of the target IDENTIFIER($old) are not known
--! UNKNOWN_TABLE warning the columns of DB.T are not known
--! UNKNOWN_TABLE info the columns of the target t are not known
