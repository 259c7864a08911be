-- SPDX-License-Identifier: Apache-2.0
--
-- The functions of the service's store. pf2.use_many, pf2.apply and pf2.drop_marks take the places of pf1.use,
-- pf1.use_many, pf1.apply and pf1.sweep. Those know no lines at gates and no device strings, and their sweep goes by
-- the clock. The service's role loses its right to them here. A later step drops them.

CREATE SCHEMA pf2;
REVOKE ALL ON SCHEMA pf2 FROM PUBLIC;
GRANT USAGE ON SCHEMA pf2 TO proof_service;

-- The generation of a device's own line at a gate, apart from pf.device.generation.
CREATE TABLE pf.gate_line (
  account int, device bytea, gate bytea, generation bigint NOT NULL, PRIMARY KEY (account, device, gate))
  WITH (fillfactor = 80);

DO $$
DECLARE
  branches text;
BEGIN
  SELECT string_agg(format(
      'WHEN %s THEN RETURN QUERY SELECT t.report, t.answer FROM pf.spent_%s t
         WHERE t.account = a AND t.device = d AND t.salt = s;', n, to_char(n, 'FM00')), E'\n' ORDER BY n)
    INTO branches FROM generate_series(0, 63) AS n;
  EXECUTE format('CREATE FUNCTION pf2.spent(slot smallint, a int, d bytea, s bytea)
    RETURNS TABLE (report bytea, answer bytea) LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS %L', format(E'BEGIN\nCASE slot\n%s\nEND CASE;\nEND', branches));
END $$;

-- The generation that a use must be above: the device's, or that of its line at a gate. 0: none.
CREATE FUNCTION pf.generation(a int, d bytea, g bytea) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF g IS NULL THEN
    RETURN coalesce((SELECT h.generation FROM pf.device h WHERE h.account = a AND h.device = d), 0);
  END IF;
  RETURN coalesce(
    (SELECT h.generation FROM pf.gate_line h WHERE h.account = a AND h.device = d AND h.gate = g), 0);
END $$;

-- Uses up to 32 challenges in one transaction. One refusal does not undo its neighbours.
--
-- Outcomes: `used` the mark, the device, its line at a gate and its strings are written. `again` the same report was
-- used before; its answer is returned. `stale` the challenge cannot be used any more. `changed` the caller judged by
-- old state: it reads and judges again.
--
-- Order of locks: tables by slot, accounts by number, marks by (account, device, salt), devices by (account, device).
-- Every caller takes them in this order, so no two callers deadlock.
CREATE FUNCTION pf2.use_many(
  accounts int[], slots smallint[], expiries int[], moments bigint[], salts bytea[], devices bytea[],
  versions bigint[], generations bigint[], must_raise boolean[], gates bytea[], notes bytea[],
  string_keys bytea[], strings bytea[], digests bytea[], answers bytea[], revisions bigint[])
RETURNS TABLE (place int, outcome text, answer bytea, now_us bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  n int := cardinality(accounts);
  outcomes text[] := array_fill(NULL::text, ARRAY[n]);
  stored bytea[] := array_fill(NULL::bytea, ARRAY[n]);
  item record;
  held record;
  now_s bigint;
  seen_s bigint;
  own bigint;
  before text := '';
  key text;
BEGIN
  IF n NOT BETWEEN 1 AND 32 THEN
    RAISE EXCEPTION 'a call has 1 to 32 challenges, this one %', n USING ERRCODE = '22023';
  END IF;

  -- Under REPEATABLE READ a statement would read with a snapshot older than its locks.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'this function needs READ COMMITTED' USING ERRCODE = '25001';
  END IF;

  -- The lock on the slot's table comes before the snapshot that reads the floor. So this call ends before a TRUNCATE of
  -- the table begins, or it sees the floor that was raised with the TRUNCATE.
  PERFORM pf.lock_spent(s)
    FROM (SELECT DISTINCT s FROM unnest(slots) AS s WHERE s BETWEEN 0 AND 63 ORDER BY s) AS ordered;

  -- pf2.apply takes this lock alone. So a change of the account waits for the commit of this call, or this call sees
  -- the revision of the change: no use under an old revision commits after a ban was acknowledged.
  PERFORM pg_advisory_xact_lock_shared(20561, a)
    FROM (SELECT DISTINCT a FROM unnest(accounts) AS a ORDER BY a) AS ordered;

  FOR item IN
    SELECT * FROM unnest(accounts, slots, expiries, moments, salts, devices, digests, answers, revisions)
      WITH ORDINALITY AS i(account, slot, expiry, moment, salt, device, digest, answer, revision, at)
      ORDER BY account, device, salt, at
  LOOP
    SELECT a.revision, r.floor_minute INTO held
      FROM pf.account a, pf.spent_ring r WHERE a.account = item.account AND r.slot = item.slot;
    now_s := floor(extract(epoch FROM clock_timestamp()));
    key := format('%s %s %s', item.account, item.device, item.salt);
    IF NOT FOUND OR item.slot <> (item.expiry / 60) % 64 THEN
      outcomes[item.at] := 'stale';
    ELSIF held.revision <> item.revision OR key = before THEN
      -- A key twice in one call: the second one is told after the first one's commit, at its next call.
      outcomes[item.at] := 'changed';
    ELSIF item.expiry / 60 < held.floor_minute OR item.expiry <= greatest(now_s, item.moment) THEN
      outcomes[item.at] := 'stale';
    ELSIF pf.mark(item.slot, item.account, item.expiry, item.device, item.salt, item.digest, item.answer) THEN
      outcomes[item.at] := 'used';
    ELSE
      -- A new statement, so that its snapshot has the row that won.
      stored[item.at] := pf.marked(item.slot, item.account, item.device, item.salt, item.digest);
      outcomes[item.at] := CASE WHEN stored[item.at] IS NULL THEN 'stale' ELSE 'again' END;
    END IF;
    before := key;
  END LOOP;

  FOR item IN
    SELECT * FROM unnest(accounts, slots, moments, salts, devices, versions, generations, must_raise, gates, notes,
      string_keys, strings) WITH ORDINALITY AS i(account, slot, moment, salt, device, version, generation, must_raise,
      gate, note, string_key, string, at)
      WHERE outcomes[at] = 'used' AND note IS NOT NULL
      ORDER BY account, device, at
  LOOP
    seen_s := coalesce(item.moment, floor(extract(epoch FROM clock_timestamp())));
    -- A generation of a gate's line is none of the device.
    own := CASE WHEN item.gate IS NULL THEN item.generation ELSE 0 END;
    IF item.version = 0 THEN
      -- The caller saw no device. A device that was removed after it was seen is not made again here.
      INSERT INTO pf.device (account, device, version, generation, first_seen, last_seen, seen_day, note)
        SELECT item.account, item.device, 1, own, seen_s, seen_s, seen_s / 86400, item.note
        WHERE NOT item.must_raise OR item.generation > 0
        ON CONFLICT DO NOTHING;
    ELSE
      UPDATE pf.device AS d SET version = d.version + 1, generation = greatest(d.generation, own),
          last_seen = greatest(d.last_seen, seen_s), seen_day = greatest(d.seen_day, seen_s / 86400),
          note = item.note
        WHERE d.account = item.account AND d.device = item.device AND d.version = item.version
          AND (NOT item.must_raise OR pf.generation(item.account, item.device, item.gate) < item.generation);
    END IF;
    IF FOUND THEN
      -- The lock on the device's row protects its line and its strings.
      IF item.gate IS NOT NULL THEN
        INSERT INTO pf.gate_line AS l VALUES (item.account, item.device, item.gate, item.generation)
          ON CONFLICT (account, device, gate) DO UPDATE SET generation = greatest(l.generation, item.generation);
      END IF;
      IF item.string_key IS NOT NULL AND item.string IS NULL THEN
        DELETE FROM pf."row" AS r WHERE r.account = item.account AND r.tbl = 9 AND r.key = item.string_key;
      ELSIF item.string_key IS NOT NULL THEN
        INSERT INTO pf."row" VALUES (item.account, 9, item.string_key, item.string)
          ON CONFLICT ON CONSTRAINT row_pkey DO UPDATE SET value = item.string;
      END IF;
    ELSIF item.must_raise AND item.generation <= pf.generation(item.account, item.device, item.gate) THEN
      -- The generation was not raised, whichever row was judged. The mark stays, without an answer that a repeated call
      -- could fetch.
      PERFORM pf.mark_refused(item.slot, item.account, item.device, item.salt);
      outcomes[item.at] := 'stale';
    ELSE
      PERFORM pf.unmark(item.slot, item.account, item.device, item.salt);
      outcomes[item.at] := 'changed';
    END IF;
  END LOOP;

  RETURN QUERY SELECT i::int, outcomes[i], stored[i], (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    FROM generate_series(1, n) AS i;
END $$;

-- Empties each slot whose last mark expired before a minute, and raises its floor above that mark, in one transaction.
-- Answers the number of slots. One caller works at a time; another one does nothing.
--
-- The floor follows from the marks and from no clock: a node whose clock is wrong closes no minute that is still to
-- come, and removes no mark whose challenge is accepted again.
CREATE FUNCTION pf2.drop_marks(before bigint) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  tbl text;
  is_live boolean;
  last bigint;
  dropped int := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock(20560, 1) THEN RETURN 0; END IF;
  PERFORM set_config('lock_timeout', '200ms', true);
  FOR n IN 0..63 LOOP
    tbl := format('pf.spent_%s', to_char(n, 'FM00'));
    CONTINUE WHEN pg_relation_size(tbl::regclass) = 0;
    -- A live mark is found soon. A slot without one is read whole, once a minute.
    EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE expiry >= $1)', tbl) INTO is_live USING before * 60;
    CONTINUE WHEN is_live;
    BEGIN
      EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', tbl);
      EXECUTE format('SELECT max(expiry) / 60 FROM %s', tbl) INTO last;
      IF last < before THEN
        UPDATE pf.spent_ring r SET floor_minute = greatest(r.floor_minute, last + 1) WHERE r.slot = n;
        EXECUTE format('TRUNCATE %s', tbl);
        dropped := dropped + 1;
      END IF;
    EXCEPTION WHEN lock_not_available THEN
      -- A use holds the table: the next call finds it free.
    END;
  END LOOP;
  RETURN dropped;
END $$;

-- Makes all changes of rows or none. Kinds: 0 insert, 1 put, 2 expect, 3 remove. `counts` steps the revision.
--
-- Outcomes: `applied`; `again` this operation was applied before; `taken` an inserted row is there; `changed` an
-- expected row is another one; `unknown account`. `place` is the change that was refused, from 0.
CREATE FUNCTION pf2.apply(
  a int, operation bytea, counts boolean, kinds smallint[], tables smallint[], keys bytea[], vals bytea[])
RETURNS TABLE (outcome text, place int, revision bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held bigint;
  earlier bytea;
  item record;
  refusal text;
  refused int := -1;
BEGIN
  -- Waits for uses of challenges that were judged under the present revision (see pf2.use_many).
  PERFORM pg_advisory_xact_lock(20561, a);
  SELECT account.revision INTO held FROM pf.account WHERE account.account = a FOR UPDATE;
  IF NOT FOUND THEN RETURN QUERY SELECT 'unknown account', -1, 0::bigint; RETURN; END IF;
  SELECT o.result INTO earlier FROM pf.operation o WHERE o.account = a AND o.id = operation;
  IF FOUND THEN RETURN QUERY SELECT 'again', -1, convert_from(earlier, 'UTF8')::bigint; RETURN; END IF;
  BEGIN
    FOR item IN
      SELECT * FROM unnest(kinds, tables, keys, vals) WITH ORDINALITY AS i(kind, tbl, key, val, at) ORDER BY at
    LOOP
      CASE item.kind
      WHEN 0 THEN
        INSERT INTO pf."row" VALUES (a, item.tbl, item.key, item.val) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN refusal := 'taken'; END IF;
      WHEN 1 THEN
        INSERT INTO pf."row" VALUES (a, item.tbl, item.key, item.val)
          ON CONFLICT ON CONSTRAINT row_pkey DO UPDATE SET value = item.val;
      WHEN 2 THEN
        PERFORM FROM pf."row" r
          WHERE r.account = a AND r.tbl = item.tbl AND r.key = item.key AND r.value = item.val;
        IF NOT FOUND THEN refusal := 'changed'; END IF;
      WHEN 3 THEN
        DELETE FROM pf."row" r WHERE r.account = a AND r.tbl = item.tbl AND r.key = item.key;
      END CASE;
      IF refusal IS NOT NULL THEN
        refused := item.at - 1;
        RAISE EXCEPTION 'refused' USING ERRCODE = 'PF001';
      END IF;
    END LOOP;
  EXCEPTION WHEN SQLSTATE 'PF001' THEN
    RETURN QUERY SELECT refusal, refused, held;
    RETURN;
  END;
  IF counts THEN
    held := held + 1;
    UPDATE pf.account SET revision = held WHERE account.account = a;
    PERFORM pg_notify('pf_revision', format('%s %s', a, held));
  END IF;
  -- A caller repeats an operation for seconds.
  DELETE FROM pf.operation o WHERE o.account = a AND o.at < now() - interval '1 day';
  INSERT INTO pf.operation (account, id, result) VALUES (a, operation, convert_to(held::text, 'UTF8'));
  RETURN QUERY SELECT 'applied', -1, held;
END $$;

-- The number of the account with this name, which is made if it is missing.
CREATE FUNCTION pf2.make_account(called bytea) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(20561, 0);
  INSERT INTO pf.account (account, name) SELECT coalesce(max(account), 0) + 1, called FROM pf.account
    ON CONFLICT DO NOTHING;
  RETURN (SELECT account FROM pf.account WHERE name = called);
END $$;

-- The account with a name, or for NULL the first two accounts.
CREATE FUNCTION pf2.accounts(called bytea) RETURNS TABLE (account int, name bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.account, a.name FROM pf.account a WHERE called IS NULL OR a.name = called ORDER BY a.account LIMIT 2
$$;

CREATE FUNCTION pf2.rows(a int, t smallint) RETURNS TABLE (key bytea, value bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT r.key, r.value FROM pf."row" r WHERE r.account = a AND r.tbl = t ORDER BY r.key
$$;

CREATE FUNCTION pf2.counter(a int, c bytea) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT coalesce((SELECT value FROM pf.counter WHERE account = a AND name = c), 0)';

-- The generation of a device's line at a gate; NULL: it has none.
CREATE FUNCTION pf2.line(a int, d bytea, g bytea) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT generation FROM pf.gate_line WHERE account = a AND device = d AND gate = g';

-- The devices seen last. The order by days uses the index, which no report of the same day changes.
CREATE FUNCTION pf2.latest_devices(a int, n bigint)
RETURNS TABLE (device bytea, version bigint, generation bigint, first_seen int, last_seen int, note bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT d.device, d.version, d.generation, d.first_seen, d.last_seen, d.note FROM pf.device d
    WHERE d.account = a ORDER BY d.seen_day DESC, d.last_seen DESC, d.device LIMIT n
$$;

-- Removes up to `n` devices that were last seen before a time, the eldest first, with their lines and strings, and
-- raises the floors of generations to theirs. Answers their number. A device that a report holds is left for the next
-- call.
CREATE FUNCTION pf2.drop_devices(a int, before bigint, n bigint) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gone bytea[];
  keys bytea[];
  highest bigint;
  line bigint;
BEGIN
  SELECT array_agg(d.device), array_agg(convert_to(encode(d.device, 'hex'), 'UTF8')), max(d.generation)
    INTO gone, keys, highest
    FROM (SELECT e.device, e.generation FROM pf.device e
      WHERE e.account = a AND e.seen_day <= before / 86400 AND e.last_seen < before
      ORDER BY e.seen_day, e.last_seen LIMIT n FOR UPDATE SKIP LOCKED) AS d;
  IF gone IS NULL THEN RETURN 0; END IF;
  SELECT max(l.generation) INTO line FROM pf.gate_line l WHERE l.account = a AND l.device = ANY (gone);
  DELETE FROM pf.gate_line l WHERE l.account = a AND l.device = ANY (gone);
  DELETE FROM pf."row" r WHERE r.account = a AND r.tbl = 9 AND r.key = ANY (keys);
  DELETE FROM pf.device d WHERE d.account = a AND d.device = ANY (gone);
  INSERT INTO pf.counter AS held VALUES (a, 'generation floor', highest) ON CONFLICT (account, name)
    DO UPDATE SET value = greatest(held.value, highest);
  IF line IS NOT NULL THEN
    INSERT INTO pf.counter AS held VALUES (a, 'gate generation floor', line) ON CONFLICT (account, name)
      DO UPDATE SET value = greatest(held.value, line);
  END IF;
  RETURN cardinality(gone);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pf, pf2 FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pf2 TO proof_service;
REVOKE EXECUTE ON FUNCTION pf1.sweep(smallint) FROM proof_service;
REVOKE EXECUTE ON FUNCTION
  pf1.use(int, smallint, int, bytea, bytea, bigint, bigint, boolean, bytea, bytea, bytea, bigint) FROM proof_service;
REVOKE EXECUTE ON FUNCTION pf1.use_many(int[], smallint[], int[], bytea[], bytea[], bigint[], bigint[], boolean[],
  bytea[], bytea[], bytea[], bigint[]) FROM proof_service;
REVOKE EXECUTE ON FUNCTION pf1.apply(int, bytea, smallint, bytea, bytea, bytea) FROM proof_service;
