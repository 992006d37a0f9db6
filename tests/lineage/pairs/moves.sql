-- postgres | s(a, b)
CREATE TABLE n AS SELECT a FROM s; ALTER TABLE n RENAME TO t; SELECT a FROM t
--> CREATE_TABLE_AS n: a <- s.a tables=s
--> ALTER : t.a <- n.a tables=n
--> SELECT : a <- t.a tables=t

-- snowflake | S(A,B)
CREATE TABLE n AS SELECT a, b FROM s; CREATE TABLE t (a INT, c INT); ALTER TABLE n SWAP WITH t; SELECT * FROM t; SELECT * FROM n
--> CREATE_TABLE_AS N: A <- S.A | B <- S.B tables=S
--> CREATE_TABLE T:
--> ALTER : T.A <- N.A | T.B <- N.B | N.A <- T.A | N.C <- T.C tables=N,T
--> SELECT : A <- T.A | B <- T.B tables=T star=full
--> SELECT : A <- N.A | C <- N.C tables=N star=full

-- snowflake | N(A,B); T(A,B)
ALTER TABLE n SWAP WITH t
--> ALTER : T.A <- N.A | T.B <- N.B | N.A <- T.A | N.B <- T.B tables=N,T

-- postgres |
INSERT INTO n SELECT a FROM s; ALTER TABLE n RENAME TO t; SELECT a FROM t
--> INSERT n: a <- s.a tables=s
--> ALTER : t.a <- n.a tables=n~
--> SELECT : a <- t.a tables=t
--! UNKNOWN_TABLE info the columns of s are not known
--! UNKNOWN_TABLE info the columns of the target n are not known
--! UNKNOWN_TABLE info the columns of t are not known

-- hive | t(a, ds); s(a, ds)
ALTER TABLE t EXCHANGE PARTITION (ds='1') WITH TABLE s
--> ALTER : t.a <- s.a | t.ds <- s.ds tables=s

-- mysql | t(a, b); s(c, d)
ALTER TABLE t EXCHANGE PARTITION p WITH TABLE s
--> ALTER : s.c <- t.a | s.d <- t.b | t.a <- s.c | t.b <- s.d tables=t,s

-- oracle | T(A); S(A)
ALTER TABLE t EXCHANGE PARTITION p1 WITH TABLE s INCLUDING INDEXES
--> ALTER : S.A <- T.A | T.A <- S.A tables=T,S

-- clickhouse | a(x); b(x)
EXCHANGE TABLES a AND b; RENAME TABLE a TO c, b TO a; ALTER TABLE a REPLACE PARTITION 1 FROM b; ALTER TABLE a MOVE PARTITION 1 TO TABLE b; ALTER TABLE a ATTACH PARTITION 1 FROM b
--> ALTER : b.x <- a.x | a.x <- b.x tables=a,b
--> ALTER : c.x <- a.x | a.x <- b.x tables=a,b
--> ALTER : a.x <- b.x tables=b
--> ALTER : b.x <- a.x tables=a
--> ALTER : a.x <- b.x tables=b

-- tsql | dbo.a(x); dbo.b(x)
ALTER TABLE dbo.a SWITCH PARTITION 1 TO dbo.b PARTITION 2
EXEC sp_rename 'dbo.a', 'c'
EXEC sp_rename 'dbo.b.x', 'y', 'COLUMN'
--> ALTER : dbo.b.x <- dbo.a.x tables=dbo.a
--> ALTER : dbo.c.x <- dbo.a.x tables=dbo.a
--> ALTER : dbo.b.y <- dbo.b.x tables=dbo.b

-- postgres | p(a); c(a)
ALTER TABLE p ATTACH PARTITION c FOR VALUES IN (1)
--> ALTER : p.a <- c.a tables=c

-- postgres |
CREATE TABLE t (a INT); ALTER TABLE t SET SCHEMA s; SELECT a FROM s.t; CREATE MATERIALIZED VIEW v AS SELECT a FROM s.t; ALTER MATERIALIZED VIEW v RENAME TO w; SELECT a FROM w
--> CREATE_TABLE t:
--> ALTER : s.t.a <- t.a tables=t
--> SELECT : a <- s.t.a tables=s.t
--> CREATE_VIEW v: a <- s.t.a tables=s.t
--> ALTER : w.a <- v.a tables=v
--> SELECT : a <- w.a tables=w

-- mysql |
CREATE TABLE t (a INT, b INT); ALTER TABLE t RENAME AS u; ALTER TABLE u CHANGE a z BIGINT; SELECT * FROM u
--> CREATE_TABLE t:
--> ALTER : u.a <- t.a | u.b <- t.b tables=t
--> ALTER : u.z <- u.a tables=u
--> SELECT : z <- u.z | b <- u.b tables=u star=full

-- oracle |
CREATE TABLE t (a NUMBER); RENAME t TO u; SELECT a FROM u; ALTER TABLE u RENAME COLUMN a TO b; SELECT b FROM u
--> CREATE_TABLE T:
--> ALTER : U.A <- T.A tables=T
--> SELECT : A <- U.A tables=U
--> ALTER : U.B <- U.A tables=U
--> SELECT : B <- U.B tables=U

-- postgres | s(a, b)
INSERT INTO x (a) SELECT a FROM s; ALTER TABLE x RENAME TO y; ALTER TABLE y RENAME TO z; SELECT b FROM z
--> INSERT x: a <- s.a tables=s
--> ALTER : y.b <- x.b | y.a <- x.a tables=x~
--> ALTER : z.b <- y.b | z.a <- y.a tables=y~
--> SELECT : b <- z.b tables=z
--! UNKNOWN_TABLE info the columns of the target x are not known
--! UNKNOWN_TABLE warning the columns of z are not known

-- postgres | s(a, b)
ALTER TABLE x RENAME TO y; ALTER TABLE y ADD COLUMN c INT; SELECT c FROM y
--> ALTER : tables=x~
--> ALTER :
--> SELECT : c <- y.c tables=y
--! UNKNOWN_TABLE info the columns of the target y are not known
--! UNKNOWN_TABLE warning the columns of y are not known

-- postgres | s(a, b)
ALTER TABLE x RENAME TO y; DROP TABLE y; CREATE TABLE y AS SELECT b FROM s; SELECT b FROM y
--> ALTER : tables=x~
--> DROP :
--> CREATE_TABLE_AS y: b <- s.b tables=s
--> SELECT : b <- y.b tables=y

-- snowflake |
INSERT INTO n (a) SELECT x FROM s; ALTER TABLE n SWAP WITH t; SELECT b FROM t; SELECT c FROM n
--> INSERT N: A <- S.X tables=S
--> ALTER : N.C <- T.C | T.B <- N.B | T.A <- N.A tables=N~,T~
--> SELECT : B <- T.B tables=T
--> SELECT : C <- N.C tables=N
--! UNKNOWN_TABLE info the columns of S are not known
--! UNKNOWN_TABLE info the columns of the target N are not known
--! UNKNOWN_TABLE info the columns of T are not known
--! UNKNOWN_TABLE info the columns of N are not known
