BEGIN TRANSACTION;
CREATE TABLE lakebed_claims (
	resource VARCHAR NOT NULL, 
	owner VARCHAR NOT NULL, 
	host VARCHAR NOT NULL, 
	pid INTEGER NOT NULL, 
	process_started VARCHAR NOT NULL, 
	claimed_at DATETIME NOT NULL, 
	seen_at DATETIME NOT NULL, 
	PRIMARY KEY (resource)
);
CREATE TABLE lakebed_deliveries (
	payer VARCHAR NOT NULL, 
	report VARCHAR NOT NULL, 
	period VARCHAR NOT NULL, 
	delivery VARCHAR NOT NULL, 
	source VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	manifest VARCHAR, 
	manifest_etag VARCHAR, 
	files INTEGER NOT NULL, 
	size_bytes BIGINT NOT NULL, 
	missing JSON NOT NULL, 
	created_at DATETIME, 
	state VARCHAR NOT NULL, 
	error VARCHAR, 
	discovered_at DATETIME NOT NULL, 
	updated_at DATETIME NOT NULL, file_uris JSON, 
	PRIMARY KEY (payer, report, period, delivery)
);
INSERT INTO "lakebed_deliveries" VALUES('000123456789','hourly','2026-09','a1','s3://bucket','cur','s3://bucket/m.json',NULL,1,5,'[]','2026-10-01 00:00:00.000000','loaded',NULL,'2026-11-15 10:24:20.971170','2026-11-15 10:24:21.169204',NULL);
CREATE TABLE lakebed_files (
	table_address VARCHAR NOT NULL, 
	path VARCHAR NOT NULL, 
	identity VARCHAR NOT NULL, 
	sha256 VARCHAR NOT NULL, 
	size_bytes BIGINT NOT NULL, 
	etag VARCHAR, 
	rows_loaded BIGINT NOT NULL, 
	state VARCHAR NOT NULL, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (table_address, path, identity)
);
INSERT INTO "lakebed_files" VALUES('iceberg:web.events','s3://bucket/a.csv','9f86d081','9f86d081',12,'"e1"',3,'loaded','2026-11-16 03:24:21.186343');
CREATE TABLE lakebed_identities (
	position INTEGER NOT NULL, 
	table_address VARCHAR NOT NULL, 
	original VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	delivery VARCHAR, 
	decided_at DATETIME NOT NULL, 
	PRIMARY KEY (position), 
	CONSTRAINT lakebed_identities_once UNIQUE (table_address, original)
);
INSERT INTO "lakebed_identities" VALUES(1,'iceberg:billing.report','lineItem/UnblendedCost','line_item_unblended_cost','a1','2026-11-15 10:24:21.170464');
CREATE TABLE lakebed_ledger (
	version INTEGER NOT NULL
);
INSERT INTO "lakebed_ledger" VALUES(3);
CREATE TABLE lakebed_loads (
	table_address VARCHAR NOT NULL, 
	payer VARCHAR NOT NULL, 
	report VARCHAR NOT NULL, 
	period VARCHAR NOT NULL, 
	delivery VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	error VARCHAR, 
	rows_loaded BIGINT NOT NULL, 
	files INTEGER NOT NULL, 
	seconds FLOAT NOT NULL, 
	added_columns JSON NOT NULL, 
	complete BOOLEAN NOT NULL, 
	reconciled BOOLEAN, 
	source_rows BIGINT, 
	rejected_rows BIGINT NOT NULL, 
	plan_hash VARCHAR, 
	table_version VARCHAR, 
	started_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	PRIMARY KEY (table_address, payer, report, period, delivery)
);
INSERT INTO "lakebed_loads" VALUES('iceberg:billing.report','000123456789','hourly','2026-09','a1','loaded',NULL,3,1,1.5,'["cost"]',1,1,3,0,'h','7','2026-11-15 10:24:21.097224','2026-11-15 10:24:21.150366');
CREATE TABLE lakebed_schema_changes (
	position INTEGER NOT NULL, 
	table_address VARCHAR NOT NULL, 
	payer VARCHAR, 
	report VARCHAR, 
	period VARCHAR, 
	delivery VARCHAR, 
	kind VARCHAR NOT NULL, 
	column_name VARCHAR NOT NULL, 
	type_before VARCHAR, 
	type_after VARCHAR NOT NULL, 
	original VARCHAR, 
	table_version VARCHAR, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (position)
);
INSERT INTO "lakebed_schema_changes" VALUES(1,'iceberg:billing.report','000123456789','hourly','2026-09','a1','added','cost',NULL,'decimal(38,18)',NULL,'7','2026-11-15 10:24:21.184117');
CREATE TABLE lakebed_staged_files (
	payer VARCHAR NOT NULL, 
	report VARCHAR NOT NULL, 
	period VARCHAR NOT NULL, 
	delivery VARCHAR NOT NULL, 
	"key" VARCHAR NOT NULL, 
	uri VARCHAR NOT NULL, 
	size_bytes BIGINT NOT NULL, 
	sha256 VARCHAR NOT NULL, 
	etag VARCHAR, 
	PRIMARY KEY (payer, report, period, delivery, "key")
);
INSERT INTO "lakebed_staged_files" VALUES('000123456789','hourly','2026-09','a1','1','/data/1',5,'00ff','e');
CREATE TABLE lakebed_staging_folders (
	folder VARCHAR NOT NULL, 
	table_address VARCHAR NOT NULL, 
	owner VARCHAR NOT NULL, 
	opened_at DATETIME NOT NULL, 
	PRIMARY KEY (folder)
);
CREATE TABLE lakebed_sums (
	table_address VARCHAR NOT NULL, 
	payer VARCHAR NOT NULL, 
	report VARCHAR NOT NULL, 
	period VARCHAR NOT NULL, 
	delivery VARCHAR NOT NULL, 
	column_name VARCHAR NOT NULL, 
	currency VARCHAR NOT NULL, 
	source_sum VARCHAR NOT NULL, 
	table_sum VARCHAR NOT NULL, 
	rounded VARCHAR NOT NULL, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (table_address, payer, report, period, delivery, column_name, currency)
);
INSERT INTO "lakebed_sums" VALUES('iceberg:billing.report','000123456789','hourly','2026-09','a1','cost','','1.5','1.5','0','2026-11-15 10:24:21.186343');
CREATE TABLE lakebed_tables (
	table_address VARCHAR NOT NULL, 
	version_left VARCHAR NOT NULL, 
	PRIMARY KEY (table_address)
);
INSERT INTO "lakebed_tables" VALUES('iceberg:billing.report','7');
CREATE INDEX lakebed_schema_changes_of_table ON lakebed_schema_changes (table_address);
COMMIT;
