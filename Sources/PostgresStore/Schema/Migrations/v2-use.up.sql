-- SPDX-License-Identifier: Apache-2.0
--
-- Single use of challenges: pf1.use, pf1.use_many, pf1.sweep.
--
-- Functions that name the table of a slot are generated, so that their plans are kept. Each takes the slot's number.

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
        ON CONFLICT DO NOTHING; RETURN FOUND;'),
    ('pf.unmark(slot smallint, a int, d bytea, s bytea) RETURNS void',
     'DELETE FROM pf.spent_%s WHERE account = a AND device = d AND salt = s; RETURN;'),
    ('pf.mark_refused(slot smallint, a int, d bytea, s bytea) RETURNS void',
     'UPDATE pf.spent_%s SET answer = NULL WHERE account = a AND device = d AND salt = s; RETURN;'),
    -- The stored answer if the report is the same; NULL if it is another one or was refused.
    ('pf.marked(slot smallint, a int, d bytea, s bytea, r bytea) RETURNS bytea',
     'RETURN (SELECT answer FROM pf.spent_%s WHERE account = a AND device = d AND salt = s AND report = r);')
  LOOP
    SELECT string_agg(format('WHEN %s THEN ' || body, n, to_char(n, 'FM00')), E'\n' ORDER BY n)
      INTO branches FROM generate_series(0, 63) AS n;
    EXECUTE format('CREATE FUNCTION %s LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS %L',
      template, format(E'BEGIN\nCASE slot\n%s\nEND CASE;\nEND', branches));
  END LOOP;
END $$;

-- Uses up to 32 challenges in one transaction. One refusal does not undo its neighbours.
--
-- Outcomes: `used` the mark and the sight are written. `again` the same report was used before; its answer is returned.
-- `stale` the challenge cannot be used any more. `changed` the caller judged by old state: it reads and judges again.
--
-- Order of locks: tables by slot, then marks by (account, device, salt), then devices by (account, device). Every
-- caller takes them in this order, so no two callers deadlock.
CREATE FUNCTION pf1.use_many(
  accounts int[], slots smallint[], expiries int[], salts bytea[], devices bytea[], versions bigint[],
  generations bigint[], must_raise boolean[], notes bytea[], digests bytea[], answers bytea[], revisions bigint[])
RETURNS TABLE (place int, outcome text, answer bytea, now_us bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  n int := cardinality(accounts);
  outcomes text[] := array_fill(NULL::text, ARRAY[n]);
  stored bytea[] := array_fill(NULL::bytea, ARRAY[n]);
  item record;
  held record;
  now_s bigint;
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
  PERFORM pf.lock_spent(s) FROM (SELECT DISTINCT s FROM unnest(slots) AS s WHERE s BETWEEN 0 AND 63 ORDER BY s) AS ordered;

  FOR item IN
    SELECT * FROM unnest(accounts, slots, expiries, salts, devices, digests, answers, revisions) WITH ORDINALITY
      AS i(account, slot, expiry, salt, device, digest, answer, revision, at)
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
    ELSIF item.expiry / 60 < held.floor_minute OR item.expiry <= now_s OR item.expiry > now_s + 900 THEN
      -- Above 900 s the mark would stand in a slot that is swept for an earlier minute.
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
    SELECT * FROM unnest(accounts, slots, salts, devices, versions, generations, must_raise, notes) WITH ORDINALITY
      AS i(account, slot, salt, device, version, generation, must_raise, note, at)
      WHERE outcomes[at] = 'used' AND note IS NOT NULL
      ORDER BY account, device, at
  LOOP
    now_s := floor(extract(epoch FROM clock_timestamp()));
    IF item.version = 0 THEN
      -- The caller saw no device. A device that was removed after it was seen is not made again here.
      INSERT INTO pf.device (account, device, version, generation, first_seen, last_seen, seen_day, note)
        VALUES (item.account, item.device, 1, item.generation, now_s, now_s, now_s / 86400, item.note)
        ON CONFLICT DO NOTHING;
    ELSE
      UPDATE pf.device AS d SET version = d.version + 1, generation = greatest(d.generation, item.generation),
          last_seen = greatest(d.last_seen, now_s), seen_day = greatest(d.seen_day, now_s / 86400),
          note = item.note
        WHERE d.account = item.account AND d.device = item.device AND d.version = item.version
          AND (NOT item.must_raise OR d.generation < item.generation);
    END IF;
    CONTINUE WHEN FOUND;
    PERFORM FROM pf.device AS d
      WHERE d.account = item.account AND d.device = item.device AND d.version = item.version;
    IF FOUND THEN
      -- The generation was not raised. The mark stays, without an answer that a repeated call could fetch.
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

CREATE FUNCTION pf1.use(
  account int, slot smallint, expiry int, salt bytea, device bytea, version bigint, generation bigint,
  must_raise boolean, note bytea, report_digest bytea, sealed_answer bytea, revision bigint)
RETURNS TABLE (outcome text, answer bytea, now_us bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT outcome, answer, now_us FROM pf1.use_many(
    ARRAY[$1], ARRAY[$2], ARRAY[$3], ARRAY[$4], ARRAY[$5], ARRAY[$6], ARRAY[$7], ARRAY[$8], ARRAY[$9], ARRAY[$10],
    ARRAY[$11], ARRAY[$12])
$$;

-- Empties the slot of a ring and raises its floor, in one transaction. Answers whether it did.
--
-- The minute to sweep is the slot's latest that ended 2 minutes ago. A slot whose next minute may already hold marks is
-- left alone until that one is over too: marks reach 15 minutes into the future, and 15 more are for a clock that fell
-- back.
CREATE FUNCTION pf1.sweep(swept smallint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now_minute bigint := floor(extract(epoch FROM clock_timestamp()) / 60);
  minute bigint;
BEGIN
  IF swept NOT BETWEEN 0 AND 63 THEN
    RAISE EXCEPTION 'a ring has slots 0 to 63, not %', swept USING ERRCODE = '22023';
  END IF;
  minute := now_minute - 3 - (now_minute - 3 - swept) % 64;
  IF minute + 64 <= now_minute + 30 OR NOT pg_try_advisory_xact_lock(20560, 1) THEN RETURN false; END IF;
  PERFORM set_config('lock_timeout', '200ms', true);
  UPDATE pf.spent_ring SET floor_minute = minute + 1 WHERE slot = swept AND floor_minute <= minute;
  IF NOT FOUND THEN RETURN false; END IF;
  EXECUTE format('TRUNCATE pf.spent_%s', to_char(swept, 'FM00'));
  RETURN true;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pf, pf1 FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pf1 TO proof_service;
