-- tsql | t(a, b, c); u(a, d); w(e)
SELECT a INTO #x FROM t
INSERT INTO u (a) SELECT a FROM #x
GO
UPDATE t SET a += b, b -= 1 WHERE c = 1
DELETE FROM w
select a from t where b in (select a from u) union all select d from u order by 1
WITH q AS (SELECT a FROM t) INSERT INTO w SELECT a FROM q
MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = u.d WHEN NOT MATCHED THEN INSERT (a) VALUES (u.a);
IF EXISTS (SELECT 1 AS one FROM w) BEGIN TRUNCATE TABLE w END ELSE INSERT INTO w VALUES (1)
DROP TABLE IF EXISTS zz
--> CREATE_TABLE_AS #x: a <- t.a tables=t
--> INSERT u: a <- #x.a tables=#x
--> UPDATE t: a <- t.a, t.b | b <- t.b [filter:t.c] tables=t
--> DELETE w:
--> SELECT : a <- t.a, u.d [filter:t.b filter:u.a] tables=t,u
--> INSERT w: e <- t.a tables=t
--> MERGE t: b <- u.d | a <- u.a [join:t.a join:u.a] tables=u
--> SELECT : one <- tables=w
--> TRUNCATE w:
--> INSERT w: e <-
--> DROP :

-- tsql | t(a, b, c); u(a, d); w(e)
CREATE PROCEDURE dbo.p @a INT = 1, @b VARCHAR(10) AS
BEGIN
  SET NOCOUNT ON
  DECLARE @x INT = (SELECT max(a) AS m FROM t)
  DECLARE @tv TABLE (k INT, v INT)
  INSERT INTO @tv SELECT a, b FROM t WHERE a = @a
  IF @x > 1 BEGIN
    INSERT INTO w (e) SELECT v FROM @tv
  END
  ELSE
    UPDATE t SET b = u.d FROM t JOIN u ON t.a = u.a
  BEGIN TRY EXEC sp_executesql N'INSERT INTO w (e) SELECT d FROM u' END TRY
  BEGIN CATCH PRINT 'x' END CATCH
  EXEC('DELETE FROM w')
  EXEC dbo.other @a
END
GO
EXEC dbo.p 1
SELECT 1 AS one
--> CREATE_PROCEDURE :
--> SET :
--> SELECT : m <- t.a tables=t
--> DECLARE :
--> INSERT @tv: k <- t.a | v <- t.b [filter:t.a] tables=t
--> INSERT w: e <- @tv.v tables=@tv
--> UPDATE t: b <- u.d [join:t.a join:u.a] tables=u
--> INSERT w: e <- u.d tables=u
--> DELETE w:
--> EXECUTE :
--> EXECUTE :
--> SELECT : one <-
--! UNSUPPORTED_SYNTAX warning this EXECUTE is not analysed

-- tsql | t(a, b, c); u(a, d); w(e)
CREATE TRIGGER tr ON t AFTER INSERT, UPDATE AS INSERT INTO w (e) SELECT i.b FROM inserted i WHERE i.a > 1
--> CREATE_TRIGGER :
--> INSERT w: e <- t.b [filter:t.a] tables=t

-- tsql | t(a, b, c); u(a, d); w(e)
CREATE FUNCTION f (@x INT) RETURNS TABLE AS RETURN (SELECT a, b FROM t WHERE c = @x)
GO
DECLARE c CURSOR FOR SELECT a FROM t
OPEN c
FETCH NEXT FROM c INTO @x
WHILE @@FETCH_STATUS = 0
BEGIN
  UPDATE u SET d = @x WHERE CURRENT OF c
  FETCH NEXT FROM c INTO @x
END
CLOSE c
DEALLOCATE c
--> CREATE_FUNCTION :
--> SELECT : a <- t.a | b <- t.b [filter:t.c] tables=t
--> SELECT : a <- t.a tables=t
--> UPDATE u:

-- oracle | t(a, b, c); u(a, d); w(e)
CREATE OR REPLACE PROCEDURE p (p_id IN NUMBER, p_out OUT VARCHAR2) IS
  v_a t.a%TYPE;
  v_b NUMBER := 0;
  CURSOR c IS SELECT a, b FROM t;
BEGIN
  SELECT a, b INTO v_a, v_b FROM t WHERE c = p_id;
  FOR r IN (SELECT a, d FROM u) LOOP
    INSERT INTO w (e) VALUES (r.d);
  END LOOP;
  FOR r IN c LOOP UPDATE u SET d = r.b WHERE a = r.a; END LOOP;
  IF v_b > 0 THEN
    INSERT INTO w (e) SELECT a FROM t WHERE a = v_a;
  ELSIF v_b = 2 THEN
    DELETE FROM w WHERE e = p_id;
  ELSE
    NULL;
  END IF;
  EXECUTE IMMEDIATE 'INSERT INTO w SELECT a FROM t';
  EXECUTE IMMEDIATE 'DELETE FROM ' || v_a;
  v_b := v_b + 1;
  INSERT INTO w (e) VALUES (v_a);
EXCEPTION
  WHEN NO_DATA_FOUND THEN
    INSERT INTO w (e) VALUES (0);
END p;
/
SELECT a FROM t;
--> CREATE_PROCEDURE :
--> SELECT : A <- t.a | B <- t.b tables=t
--> SELECT : A <- t.a | B <- t.b [filter:t.c] tables=t
--> SELECT : A <- u.a | D <- u.d tables=u
--> INSERT w: e <- u.d tables=u
--> UPDATE u: d <- t.b [filter:t.a filter:u.a] tables=t
--> INSERT w: e <- t.a [filter:t.a] tables=t
--> DELETE w: [filter:w.e]
--> INSERT w: e <- t.a tables=t
--> EXECUTE :
--> INSERT w: e <- ~t.a tables=t
--> INSERT w: e <-
--> SELECT : A <- t.a tables=t
--! UNSUPPORTED_SYNTAX warning this EXECUTE is not analysed

-- oracle | t(a, b, c); u(a, d); w(e)
CREATE OR REPLACE PACKAGE BODY pkg AS
  g NUMBER;
  PROCEDURE a IS BEGIN INSERT INTO w (e) SELECT a FROM t; END a;
  FUNCTION b RETURN NUMBER IS x NUMBER; BEGIN SELECT max(d) AS m INTO x FROM u; RETURN x; END;
END pkg;
/
CREATE OR REPLACE TRIGGER tr AFTER INSERT OR UPDATE ON t FOR EACH ROW BEGIN INSERT INTO w (e) VALUES (:NEW.a); END;
/
BEGIN pkg.a; INSERT INTO u (a) SELECT a FROM t; END;
/
select b from t
--> CREATE_PACKAGE :
--> CREATE_PROCEDURE :
--> INSERT w: e <- t.a tables=t
--> CREATE_FUNCTION :
--> SELECT : M <- u.d tables=u
--> CREATE_TRIGGER :
--> INSERT w: e <- t.a tables=t
--> CALL :
--> INSERT u: a <- t.a tables=t
--> SELECT : B <- t.b tables=t

-- postgres | t(a, b, c); u(a, d); w(e)
CREATE FUNCTION f(p int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v int := 0;
  r record;
BEGIN
  SELECT a INTO STRICT v FROM t WHERE b = p;
  FOR r IN SELECT a, d FROM u LOOP
    INSERT INTO w (e) VALUES (r.d);
  END LOOP;
  PERFORM a FROM t;
  RETURN QUERY SELECT b FROM t;
  EXECUTE 'DELETE FROM w';
  CREATE TEMP TABLE tmp AS SELECT a FROM t;
  INSERT INTO w SELECT a FROM tmp;
END;
$$;
DO $$ BEGIN INSERT INTO w SELECT a FROM t; END $$;
CREATE FUNCTION g() RETURNS TABLE (x int) AS 'SELECT a FROM t WHERE b = ''x''' LANGUAGE sql;
SELECT a INTO newtab FROM t;
BEGIN; INSERT INTO w SELECT b FROM t; COMMIT
--> CREATE_FUNCTION :
--> SELECT : a <- t.a [filter:t.b] tables=t
--> SELECT : a <- u.a | d <- u.d tables=u
--> INSERT w: e <- u.d tables=u
--> SELECT : a <- t.a tables=t
--> SELECT : b <- t.b tables=t
--> DELETE w:
--> CREATE_TABLE_AS tmp: a <- t.a tables=t
--> INSERT w: e <- tmp.a tables=tmp
--> INSERT w: e <- t.a tables=t
--> CREATE_FUNCTION :
--> SELECT : a <- t.a [filter:t.b] tables=t
--> CREATE_TABLE_AS newtab: a <- t.a tables=t
--> TRANSACTION :
--> INSERT w: e <- t.b tables=t
--> COMMIT :

-- postgres | t(a, b, c); u(a, d); w(e)
CREATE PROCEDURE p() LANGUAGE plpgsql AS $body$
BEGIN
  <<outer>>
  WHILE (SELECT count(*) FROM w) < 10 LOOP
    INSERT INTO w SELECT a FROM t;
    EXIT outer WHEN NOT FOUND;
  END LOOP;
  CASE WHEN true THEN UPDATE t SET a = d FROM u WHERE u.a = t.a; ELSE DELETE FROM u; END CASE;
END $body$;
CALL p();
CALL elsewhere()
--> CREATE_PROCEDURE :
--> SELECT : count <- tables=w
--> INSERT w: e <- t.a tables=t
--> UPDATE t: a <- u.d [filter:t.a filter:u.a] tables=u
--> DELETE u:
--> CALL :
--> CALL :
--! UNSUPPORTED_SYNTAX warning this CALL is not analysed

-- mysql | t(a, b, c); u(a, d); w(e)
DELIMITER //
CREATE PROCEDURE p(IN p_a INT, OUT p_b INT)
BEGIN
  DECLARE done INT DEFAULT 0;
  DECLARE v INT;
  DECLARE cur CURSOR FOR SELECT a FROM t;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1;
  SELECT b INTO v FROM t WHERE a = p_a;
  OPEN cur;
  lp: LOOP
    FETCH cur INTO v;
    IF done = 1 THEN LEAVE lp; END IF;
    INSERT INTO w (e) VALUES (v);
  END LOOP lp;
  CLOSE cur;
  SET p_b = (SELECT max(d) FROM u);
END //
DELIMITER ;
SELECT a FROM t;
CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO w (e) VALUES (NEW.b);
SELECT d INTO @x FROM u
--> CREATE_PROCEDURE :
--> SELECT : a <- t.a tables=t
--> SELECT : b <- t.b [filter:t.a] tables=t
--> INSERT w: e <- ~t.b, ~t.a tables=t
--> SELECT : max(d) <- u.d tables=u
--> SELECT : a <- t.a tables=t
--> CREATE_TRIGGER :
--> INSERT w: e <- t.b tables=t
--> SELECT : d <- u.d tables=u

-- snowflake | T(A,B,C); U(A,D); W(E)
CREATE OR REPLACE PROCEDURE p(x INT) RETURNS STRING LANGUAGE SQL AS
$$
DECLARE
  n INT DEFAULT 0;
  rs RESULTSET;
BEGIN
  LET m INT := (SELECT max(a) FROM t);
  SELECT b INTO :n FROM t WHERE c = :x;
  FOR r IN (SELECT d FROM u) DO
    INSERT INTO w SELECT :r.d;
  END FOR;
  INSERT INTO w (e) SELECT a FROM t WHERE b = :n;
  IF (n > 1) THEN CREATE OR REPLACE TEMP TABLE z AS SELECT a FROM t; END IF;
  RETURN 'done';
END
$$;
CALL p(1);
CREATE TASK tk WAREHOUSE = x SCHEDULE = '5 MINUTE' AS INSERT INTO w (e) SELECT a FROM t;
CREATE PROCEDURE py() RETURNS STRING LANGUAGE PYTHON RUNTIME_VERSION = '3.11' PACKAGES = ('x') HANDLER = 'm' AS 'import x'
--> CREATE_PROCEDURE :
--> SELECT : max(a) <- T.A tables=T
--> SELECT : B <- T.B [filter:T.C] tables=T
--> SELECT : D <- U.D tables=U
--> INSERT W: E <- U.D tables=U
--> INSERT W: E <- T.A [filter:T.B] tables=T
--> CREATE_TABLE_AS Z: A <- T.A tables=T
--> CALL :
--> CREATE_TASK :
--> INSERT W: E <- T.A tables=T
--> CREATE_PROCEDURE :
--! UNSUPPORTED_SYNTAX warning this procedure is written in PYTHON, and is not analysed

-- bigquery | t(a, b, c); u(a, d); w(e)
DECLARE x INT64 DEFAULT (SELECT max(a) AS m FROM t);
DECLARE y, z STRING;
SET x = (SELECT min(d) AS m FROM u);
IF x > 1 THEN
  INSERT INTO w (e) SELECT a FROM t WHERE b = y;
ELSEIF x = 1 THEN DELETE FROM w WHERE e = x;
END IF;
FOR r IN (SELECT a, d FROM u) DO INSERT INTO w (e) VALUES (r.d); END FOR;
BEGIN
  CREATE TEMP TABLE tmp AS SELECT a FROM t;
EXCEPTION WHEN ERROR THEN
  SELECT @@error.message;
END;
EXECUTE IMMEDIATE 'INSERT INTO w (e) SELECT b FROM t';
BEGIN TRANSACTION; DELETE FROM w WHERE true; COMMIT TRANSACTION
--> SELECT : m <- t.a tables=t
--> SELECT : m <- u.d tables=u
--> INSERT w: e <- t.a [filter:t.b] tables=t
--> DELETE w: [filter:t.a filter:u.d filter:w.e] tables=t,u
--> SELECT : a <- u.a | d <- u.d tables=u
--> INSERT w: e <- u.d tables=u
--> CREATE_TABLE_AS tmp: a <- t.a tables=t
--> SELECT : message <-
--> INSERT w: e <- t.b tables=t
--> TRANSACTION :
--> DELETE w:
--> COMMIT :

-- bigquery | t(a, b, c); w(e)
CREATE OR REPLACE PROCEDURE d.p(IN p_x INT64, OUT p_y INT64)
BEGIN
  SET p_y = (SELECT count(*) FROM t);
  INSERT INTO w (e) SELECT a FROM t WHERE b = p_x;
END;
CALL d.p(1, y)
--> CREATE_PROCEDURE :
--> SELECT : f0_ <- tables=t
--> INSERT w: e <- t.a [filter:t.b] tables=t
--> CALL :

-- databricks | t(a, b, c); u(a, d); w(e)
CREATE PROCEDURE p(x INT) LANGUAGE SQL AS
BEGIN
  DECLARE v INT DEFAULT 1;
  FOR r AS SELECT a, d FROM u DO INSERT INTO w (e) VALUES (r.d); END FOR;
  WHILE v < 10 DO INSERT INTO w SELECT a FROM t WHERE b = v; SET v = v + 1; END WHILE;
END;
SELECT a FROM t
--> CREATE_PROCEDURE :
--> SELECT : a <- u.a | d <- u.d tables=u
--> INSERT w: e <- u.d tables=u
--> INSERT w: e <- t.a [filter:t.b] tables=t
--> SELECT : a <- t.a tables=t

-- duckdb | t(a, b, c)
CREATE MACRO m(x) AS TABLE SELECT a, b FROM t WHERE c = x;
SELECT a FROM t
--> CREATE_MACRO :
--> SELECT : a <- t.a | b <- t.b [filter:t.c] tables=t
--> SELECT : a <- t.a tables=t

-- trino | t(a, b)
WITH FUNCTION f(x BIGINT) RETURNS VARCHAR BEGIN IF x = 0 THEN RETURN 'zero'; ELSEIF x = 1 THEN RETURN CASE WHEN x > 0 THEN 'one' END; END IF; CASE x WHEN 1 THEN RETURN 'a'; END CASE; END SELECT f(a) AS y FROM t; SELECT b FROM t
--> SELECT : y <- t.a tables=t
--> SELECT : b <- t.b tables=t

-- tsql | o(a, b); d(a)
SET NOCOUNT ON SELECT a, b INTO #t FROM o SET IDENTITY_INSERT d ON INSERT INTO d (a) SELECT b FROM #t SET IDENTITY_INSERT d OFF DELETE FROM d WHERE a = 1
--> SET :
--> CREATE_TABLE_AS #t: a <- o.a | b <- o.b tables=o
--> SET :
--> INSERT d: a <- #t.b tables=#t
--> SET :
--> DELETE d: [filter:d.a]
