-- oracle | U(A)
CREATE TABLE t2 (a NUMBER GENERATED ALWAYS AS IDENTITY, b VARCHAR2(10 CHAR) DEFAULT ON NULL 'x' NOT NULL ENABLE, CONSTRAINT pk PRIMARY KEY (a)) TABLESPACE ts STORAGE (INITIAL 64K) PARTITION BY RANGE (a) (PARTITION p1 VALUES LESS THAN (10)); SELECT * FROM t2
--> CREATE_TABLE T2:
--> SELECT : A <- T2.A | B <- T2.B tables=T2 star=full

-- oracle | T(A,B); U(A,D)
INSERT /*+ APPEND */ INTO u (a) SELECT a FROM t LOG ERRORS INTO err REJECT LIMIT UNLIMITED
--> INSERT U: A <- T.A tables=T

-- oracle | T(A,B); U(A,D)
MERGE INTO t USING u ON (t.a = u.a) WHEN MATCHED THEN UPDATE SET t.b = u.d DELETE WHERE t.b IS NULL WHEN NOT MATCHED THEN INSERT (t.a) VALUES (u.a) LOG ERRORS
--> MERGE T: B <- U.D | A <- U.A [join:T.A join:U.A] tables=U

-- oracle | T(A,B)
CREATE MATERIALIZED VIEW mv BUILD IMMEDIATE REFRESH FAST ON COMMIT AS SELECT a FROM t; CREATE OR REPLACE FORCE EDITIONABLE VIEW v (x) AS SELECT a FROM t WITH READ ONLY; CREATE TABLE c PARALLEL 4 NOLOGGING AS SELECT a, b FROM t; SELECT * FROM c
--> CREATE_VIEW MV: A <- T.A tables=T
--> CREATE_VIEW V: X <- T.A tables=T
--> CREATE_TABLE_AS C: A <- T.A | B <- T.B tables=T
--> SELECT : A <- C.A | B <- C.B tables=C star=full

-- oracle | T(A,B)
DELETE t WHERE a = 1; TRUNCATE TABLE t DROP STORAGE; ALTER TABLE t DROP PARTITION p1; ALTER INDEX i REBUILD; ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY'; CREATE DATABASE LINK l CONNECT TO u IDENTIFIED BY p USING 'x'
--> DELETE T: [filter:T.A]
--> TRUNCATE T:
--> ALTER :
--> ALTER :
--> ALTER :
--> CREATE :

-- oracle | T(A,B)
SELECT a FROM t MODEL DIMENSION BY (a) MEASURES (b) RULES (b[1] = 2); SELECT b FROM t
--> SELECT : tables=T~
--> SELECT : B <- T.B tables=T
--! PARSE_ERROR error Invalid expression / Unexpected token

-- spark |
INSERT INTO x SELECT a FROM (SELECT FROM y JOIN z ON; WITH c AS (SELECT 1) SELECT * FORM q, r; UPDATE t SET WHERE; MERGE t USING s ON; DELETE FROM d WHERE (; CREATE VIEW v AS SELECT EXTRACT(YEAR FROM d) FROM p WHERE )
--> INSERT x: tables=y~,z~
--> UNKNOWN :
--> UPDATE t:
--> MERGE t: tables=s~
--> DELETE d:
--> CREATE_VIEW v: tables=p~
--! PARSE_ERROR error Expecting )
--! PARSE_ERROR error Invalid expression / Unexpected token
--! PARSE_ERROR error Required keyword: 'this' missing for <class 'sqlglot.expressions.query.Where'>
--! PARSE_ERROR error Required keyword: 'expressions' missing for <class 'sqlglot.expressions.dml.Whens'>
--! PARSE_ERROR error Required keyword: 'this' missing for <class 'sqlglot.expressions.core.Paren'>
--! PARSE_ERROR error Required keyword: 'this' missing for <class 'sqlglot.expressions.query.Where'>
