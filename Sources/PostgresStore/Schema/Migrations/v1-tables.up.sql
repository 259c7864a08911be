-- SPDX-License-Identifier: Apache-2.0
--
-- Tables. The role that runs this owns them. The role proof_service may execute functions of pf1 only.

CREATE SCHEMA pf;
CREATE SCHEMA pf1;
REVOKE ALL ON SCHEMA pf, pf1 FROM PUBLIC;
GRANT USAGE ON SCHEMA pf1 TO proof_service;

CREATE TABLE pf.schema (
  version int NOT NULL, oldest_program int NOT NULL, changed timestamptz NOT NULL DEFAULT now());
INSERT INTO pf.schema VALUES (0, 0);
CREATE UNIQUE INDEX schema_is_one_row ON pf.schema ((true));

CREATE TABLE pf.account (
  account int PRIMARY KEY, name bytea NOT NULL UNIQUE, revision bigint NOT NULL DEFAULT 0,
  challenge_epoch int NOT NULL DEFAULT 0);
CREATE TABLE pf."row" (
  account int, tbl smallint, key bytea, value bytea NOT NULL, PRIMARY KEY (account, tbl, key));
CREATE TABLE pf.counter (account int, name bytea, value bigint NOT NULL, PRIMARY KEY (account, name));

-- No index covers a column that every report changes: such an index ends heap-only updates.
CREATE TABLE pf.device (
  account int, device bytea, version bigint NOT NULL, generation bigint NOT NULL, first_seen int NOT NULL,
  last_seen int NOT NULL, seen_day int NOT NULL, note bytea NOT NULL, PRIMARY KEY (account, device))
  WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX device_day ON pf.device (account, seen_day);

CREATE TABLE pf.issue (
  account int, instance bytea, hardware bytea, issued bigint NOT NULL, revoked bigint NOT NULL,
  PRIMARY KEY (account, instance, hardware));
CREATE TABLE pf.operation (
  account int, id bytea, result bytea NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (account, id));
CREATE TABLE pf.event_count (
  account int, name bytea, node smallint, value bigint NOT NULL, PRIMARY KEY (account, name, node))
  WITH (fillfactor = 50);

-- Rings of 64 tables by minute: spent challenges by their expiry, redeemed events by their own time. A slot is emptied
-- by TRUNCATE, so autovacuum has nothing to do there. Nothing of a minute below a slot's floor is accepted.
CREATE TABLE pf.spent_ring (slot smallint PRIMARY KEY, floor_minute bigint NOT NULL);
CREATE TABLE pf.event_ring (slot smallint PRIMARY KEY, floor_minute bigint NOT NULL);
INSERT INTO pf.spent_ring SELECT slot, 0 FROM generate_series(0, 63) AS slot;
INSERT INTO pf.event_ring SELECT slot, 0 FROM generate_series(0, 63) AS slot;
DO $$
BEGIN
  FOR slot IN 0..63 LOOP
    EXECUTE format(
      'CREATE TABLE pf.spent_%1$s (account int, expiry int NOT NULL, device bytea, salt bytea, report bytea NOT NULL,
         answer bytea, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (account, device, salt))
         WITH (autovacuum_enabled = off);
       CREATE TABLE pf.event_%1$s (account int, minute int, event bytea, PRIMARY KEY (account, minute, event))
         WITH (autovacuum_enabled = off)', to_char(slot, 'FM00'));
  END LOOP;
END $$;

CREATE FUNCTION pf1.schema() RETURNS TABLE (version int, oldest_program int)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT version, oldest_program FROM pf.schema';
REVOKE ALL ON FUNCTION pf1.schema() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pf1.schema() TO proof_service;
