-- SPDX-License-Identifier: Apache-2.0
--
-- Drops pf2.see, and gives the other functions the text that they had before. Rows stay.

DROP FUNCTION pf2.see(int, bytea, smallint, bytea);

DO $$
DECLARE
  branches text;
  template text;
  body text;
BEGIN
  FOR template, body IN VALUES
    ('pf.lock_spent(slot smallint) RETURNS void',
     'LOCK TABLE pf.spent_%s IN ROW EXCLUSIVE MODE; RETURN;'),
    ('pf.mark(slot smallint, a int, x int, d bytea, s bytea, r bytea, w bytea) RETURNS boolean',
     'INSERT INTO pf.spent_%s (account, expiry, device, salt, report, answer) VALUES (a, x, d, s, r, w)
        ON CONFLICT DO NOTHING; RETURN FOUND;')
  LOOP
    SELECT string_agg(format('WHEN %s THEN ' || body, n, to_char(n, 'FM00')), E'\n' ORDER BY n)
      INTO branches FROM generate_series(0, 63) AS n;
    EXECUTE format('CREATE OR REPLACE FUNCTION %s LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS %L',
      template, format(E'BEGIN\nCASE slot\n%s\nEND CASE;\nEND', branches));
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION pf2.counter(a int, c bytea) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT coalesce((SELECT value FROM pf.counter WHERE account = a AND name = c), 0)';

CREATE OR REPLACE FUNCTION pf2.line(a int, d bytea, g bytea) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT generation FROM pf.gate_line WHERE account = a AND device = d AND gate = g';

CREATE OR REPLACE FUNCTION pf2.replay_judgement(p int, n bytea) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT bytes FROM pf.replay_judgement WHERE place = p AND name = n';

CREATE OR REPLACE FUNCTION pfg.replay_insert(p int, moment bigint, k bytea, expires bigint) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT pf2.replay_insert(pf.of_gate(p), moment, k, expires)';

CREATE OR REPLACE FUNCTION pfg.replay_judgement(p int, n bytea) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT pf2.replay_judgement(pf.of_gate(p), n)';

CREATE OR REPLACE FUNCTION pfg.replay_record(
  p int, moment bigint, n bytea, judged bytea, kept bigint, k bytea, expires bigint)
RETURNS TABLE (outcome text, known bytea)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT * FROM pf2.replay_record(pf.of_gate(p), moment, n, judged, kept, k, expires)';

CREATE OR REPLACE FUNCTION pfg.replay_redeem(
  p int, moment bigint, n bytea, k bytea, expires bigint, d bytea, who bytea)
RETURNS TABLE (
  outcome text, known bytea, highest bigint, meter bytea, accounts_minute int, accounts_hour int, accounts_day int,
  devices_minute int, devices_hour int, devices_day int)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT * FROM pf2.replay_redeem(pf.of_gate(p), moment, n, k, expires, d, who)';

CREATE OR REPLACE FUNCTION pfg.replay_judged(
  p int, d bytea, meter bytea, moment bigint, n bytea, judged bytea, kept bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT pf2.replay_judged(pf.of_gate(p), d, meter, moment, n, judged, kept)';
