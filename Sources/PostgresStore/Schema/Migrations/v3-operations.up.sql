-- SPDX-License-Identifier: Apache-2.0
--
-- Reading a device, changing an account, blocks of counters, events, the issue ledger.

-- The account's revision and the device, from one snapshot. No row: no such account. `version` 0: no such device.
CREATE FUNCTION pf1.see(a int, d bytea)
RETURNS TABLE (revision bigint, version bigint, generation bigint, first_seen int, last_seen int, note bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT account.revision, coalesce(device.version, 0), coalesce(device.generation, 0),
    coalesce(device.first_seen, 0), coalesce(device.last_seen, 0), device.note
  FROM pf.account LEFT JOIN pf.device ON device.account = account.account AND device.device = d
  WHERE account.account = a
$$;

-- Creates an account, or answers the number of the one with this name.
CREATE FUNCTION pf1.open_account(number int, called bytea) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO pf.account (account, name) VALUES (number, called) ON CONFLICT DO NOTHING;
  RETURN (SELECT account FROM pf.account WHERE name = called);
END $$;

-- A row's value, or no row.
CREATE FUNCTION pf1.row(a int, t smallint, k bytea) RETURNS TABLE (revision bigint, value bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT account.revision, r.value
  FROM pf.account LEFT JOIN pf."row" r ON r.account = account.account AND r.tbl = t AND r.key = k
  WHERE account.account = a
$$;

-- Puts a row, or removes it with a NULL, if its value is the expected one (NULL: no row). Steps the revision.
--
-- Outcomes: `applied`, `changed` (another value, nothing written), `again` (this operation was applied before),
-- `unknown account`. The lock on the account's row makes changes of one account one after the other.
CREATE FUNCTION pf1.apply(a int, operation bytea, t smallint, k bytea, expected bytea, wanted bytea)
RETURNS TABLE (outcome text, revision bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held bigint;
  present bytea;
  before bytea;
BEGIN
  SELECT account.revision INTO held FROM pf.account WHERE account.account = a FOR UPDATE;
  IF NOT FOUND THEN RETURN QUERY SELECT 'unknown account', 0::bigint; RETURN; END IF;
  SELECT o.result INTO before FROM pf.operation o WHERE o.account = a AND o.id = operation;
  IF FOUND THEN RETURN QUERY SELECT 'again', convert_from(before, 'UTF8')::bigint; RETURN; END IF;
  SELECT r.value INTO present FROM pf."row" r WHERE r.account = a AND r.tbl = t AND r.key = k;
  IF present IS DISTINCT FROM expected THEN RETURN QUERY SELECT 'changed', held; RETURN; END IF;
  IF wanted IS NULL THEN
    DELETE FROM pf."row" r WHERE r.account = a AND r.tbl = t AND r.key = k;
  ELSE
    INSERT INTO pf."row" VALUES (a, t, k, wanted) ON CONFLICT ON CONSTRAINT row_pkey DO UPDATE SET value = wanted;
  END IF;
  UPDATE pf.account SET revision = held + 1 WHERE account.account = a;
  INSERT INTO pf.operation (account, id, result) VALUES (a, operation, convert_to((held + 1)::text, 'UTF8'));
  PERFORM pg_notify('pf_revision', format('%s %s', a, held + 1));
  RETURN QUERY SELECT 'applied', held + 1;
END $$;

-- Reserves `n` numbers of a counter, and answers the first. Blocks never overlap; numbers may be lost.
CREATE FUNCTION pf1.block(a int, c bytea, n bigint) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO pf.counter AS held (account, name, value) VALUES (a, c, n)
    ON CONFLICT (account, name) DO UPDATE SET value = held.value + n RETURNING value - n
$$;

CREATE FUNCTION pf1.count_devices(a int) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT count(*) FROM pf.device WHERE account = a';

DO $$
DECLARE
  branches text;
BEGIN
  SELECT string_agg(format(
      'WHEN %s THEN LOCK TABLE pf.event_%s IN ROW EXCLUSIVE MODE;
         IF (SELECT floor_minute > m FROM pf.event_ring r WHERE r.slot = %1$s) THEN RETURN NULL; END IF;
         INSERT INTO pf.event_%2$s VALUES (a, m, e) ON CONFLICT DO NOTHING; RETURN FOUND;',
      n, to_char(n, 'FM00')), E'\n' ORDER BY n)
    INTO branches FROM generate_series(0, 63) AS n;
  EXECUTE format('CREATE FUNCTION pf.mark_event(a int, m int, e bytea) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS %L', format(E'BEGIN\nCASE m %% 64\n%s\nEND CASE;\nEND', branches));
END $$;

-- Redeems an event of minute `m`: true the first time, then false; NULL if the minute is below the floor, or more than
-- 15 minutes from now. The count of the event's name rises with the first.
CREATE FUNCTION pf1.redeem_event(a int, m int, e bytea, called bytea, on_node smallint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  is_first boolean;
BEGIN
  IF abs(floor(extract(epoch FROM clock_timestamp()) / 60) - m) > 15 THEN RETURN NULL; END IF;
  is_first := pf.mark_event(a, m, e);
  IF is_first THEN
    INSERT INTO pf.event_count AS held VALUES (a, called, on_node, 1)
      ON CONFLICT (account, name, node) DO UPDATE SET value = held.value + 1;
  END IF;
  RETURN is_first;
END $$;

CREATE FUNCTION pf1.count_events(a int, called bytea) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT coalesce(sum(value), 0)::bigint FROM pf.event_count WHERE account = a AND name = called';

-- Notes that a key of generation `g` is issued. False: a later one was issued, or this one is revoked.
CREATE FUNCTION pf1.note_issue(a int, i bytea, h bytea, g bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO pf.issue AS held VALUES (a, i, h, g, 0) ON CONFLICT (account, instance, hardware)
    DO UPDATE SET issued = g WHERE held.issued <= g AND held.revoked < g;
  RETURN FOUND;
END $$;

CREATE FUNCTION pf1.note_revocation(a int, i bytea, h bytea, g bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO pf.issue AS held VALUES (a, i, h, 0, g) ON CONFLICT (account, instance, hardware)
    DO UPDATE SET revoked = greatest(held.revoked, g)
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pf, pf1 FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pf1 TO proof_service;
