-- SPDX-License-Identifier: Apache-2.0
--
-- Functions that keep their plans. PostgreSQL parses and plans a function of language sql at each call; PL/pgSQL keeps
-- the plans of a session. pf1.see and pf2.spent stay for nodes of the program before this one.

-- A function that names the table of a slot gets a tree of comparisons. PL/pgSQL prepares each comparison that it makes
-- anew in each transaction: a tree makes 6, the list of WHENs that it replaces up to 64.
DO $$
DECLARE
  signature text;
  options text;
  frame text;
  leaf text;
  tree text[];
BEGIN
  FOR signature, options, frame, leaf IN VALUES
    -- The account's revision, the device, and the mark of a salt in a slot, from one snapshot; NULL: no mark is asked
    -- for. No row: no such account. `version` 0: no such device; then `floor` is the highest generation of a device
    -- that was dropped. `report` NULL: no such mark.
    ('FUNCTION pf2.see(a int, d bytea, slot smallint, s bytea)
        RETURNS TABLE (revision bigint, version bigint, generation bigint, first_seen int, last_seen int, note bytea,
          floor bigint, report bytea, answer bytea)',
     'STABLE SECURITY DEFINER',
     'IF slot IS NULL THEN
        RETURN QUERY SELECT account.revision, coalesce(device.version, 0), coalesce(device.generation, 0),
          coalesce(device.first_seen, 0), coalesce(device.last_seen, 0), device.note,
          CASE WHEN device.version IS NULL THEN coalesce((SELECT counter.value FROM pf.counter
            WHERE counter.account = a AND counter.name = ''generation floor''), 0) END,
          NULL::bytea, NULL::bytea
        FROM pf.account LEFT JOIN pf.device ON device.account = account.account AND device.device = d
        WHERE account.account = a;
        RETURN;
      END IF;',
     'RETURN QUERY SELECT account.revision, coalesce(device.version, 0), coalesce(device.generation, 0),
        coalesce(device.first_seen, 0), coalesce(device.last_seen, 0), device.note,
        CASE WHEN device.version IS NULL THEN coalesce((SELECT counter.value FROM pf.counter
          WHERE counter.account = a AND counter.name = ''generation floor''), 0) END,
        mark.report, mark.answer
      FROM pf.account LEFT JOIN pf.device ON device.account = account.account AND device.device = d
        LEFT JOIN pf.spent_%s AS mark ON mark.account = account.account AND mark.device = d AND mark.salt = s
      WHERE account.account = a;
      RETURN;'),
    ('FUNCTION pf.lock_spent(slot smallint) RETURNS void', '', '',
     'LOCK TABLE pf.spent_%s IN ROW EXCLUSIVE MODE; RETURN;'),
    ('FUNCTION pf.mark(slot smallint, a int, x int, d bytea, s bytea, r bytea, w bytea) RETURNS boolean', '', '',
     'INSERT INTO pf.spent_%s (account, expiry, device, salt, report, answer) VALUES (a, x, d, s, r, w)
        ON CONFLICT DO NOTHING; RETURN FOUND;')
  LOOP
    SELECT array_agg(format(leaf, to_char(n, 'FM00')) ORDER BY n) INTO tree FROM generate_series(0, 63) AS n;
    -- Joins every two neighbours, until one is left.
    FOR level IN 0..5 LOOP
      SELECT array_agg(format(E'IF slot < %s THEN\n%s\nELSE\n%s\nEND IF;', (2 * i - 1) << level, tree[2 * i - 1],
          tree[2 * i]) ORDER BY i)
        INTO tree FROM generate_series(1, 32 >> level) AS i;
    END LOOP;
    EXECUTE format('CREATE OR REPLACE %s LANGUAGE plpgsql %s SET search_path = pg_catalog, pg_temp AS %L',
      signature, options, format(E'#variable_conflict use_column\nBEGIN\n%s\nIF slot BETWEEN 0 AND 63 THEN\n%s\n'
        'END IF;\nRAISE EXCEPTION ''there is no slot %%'', slot USING ERRCODE = ''22023'';\nEND', frame, tree[1]));
  END LOOP;
END $$;

-- As before, in PL/pgSQL.
CREATE OR REPLACE FUNCTION pf2.counter(a int, c bytea) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN coalesce((SELECT value FROM pf.counter WHERE account = a AND name = c), 0);
END $$;

CREATE OR REPLACE FUNCTION pf2.line(a int, d bytea, g bytea) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (SELECT generation FROM pf.gate_line WHERE account = a AND device = d AND gate = g);
END $$;

CREATE OR REPLACE FUNCTION pf2.replay_judgement(p int, n bytea) RETURNS bytea
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (SELECT bytes FROM pf.replay_judgement WHERE place = p AND name = n);
END $$;

CREATE OR REPLACE FUNCTION pfg.replay_insert(p int, moment bigint, k bytea, expires bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN pf2.replay_insert(pf.of_gate(p), moment, k, expires);
END $$;

CREATE OR REPLACE FUNCTION pfg.replay_judgement(p int, n bytea) RETURNS bytea
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN pf2.replay_judgement(pf.of_gate(p), n);
END $$;

CREATE OR REPLACE FUNCTION pfg.replay_record(
  p int, moment bigint, n bytea, judged bytea, kept bigint, k bytea, expires bigint)
RETURNS TABLE (outcome text, known bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY SELECT * FROM pf2.replay_record(pf.of_gate(p), moment, n, judged, kept, k, expires);
END $$;

CREATE OR REPLACE FUNCTION pfg.replay_redeem(
  p int, moment bigint, n bytea, k bytea, expires bigint, d bytea, who bytea)
RETURNS TABLE (
  outcome text, known bytea, highest bigint, meter bytea, accounts_minute int, accounts_hour int, accounts_day int,
  devices_minute int, devices_hour int, devices_day int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY SELECT * FROM pf2.replay_redeem(pf.of_gate(p), moment, n, k, expires, d, who);
END $$;

CREATE OR REPLACE FUNCTION pfg.replay_judged(
  p int, d bytea, meter bytea, moment bigint, n bytea, judged bytea, kept bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pf2.replay_judged(pf.of_gate(p), d, meter, moment, n, judged, kept);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pf, pf2 FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pf2.see(int, bytea, smallint, bytea) TO proof_service;
