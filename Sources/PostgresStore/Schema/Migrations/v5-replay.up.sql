-- SPDX-License-Identifier: Apache-2.0
--
-- Event tokens: each audience of an account is a place with used keys, judgements and counts.
--
-- Calls of one place take turns by the lock on its row, so the highest time and the counts are those of one order.

CREATE TABLE pf.replay (
  place int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account int NOT NULL, audience bytea NOT NULL,
  highest bigint NOT NULL DEFAULT 0, gap bigint, UNIQUE (account, audience)) WITH (fillfactor = 50);
CREATE TABLE pf.replay_used (place int, key bytea, expiry bigint NOT NULL, PRIMARY KEY (place, key));
CREATE INDEX replay_used_expiry ON pf.replay_used (place, expiry);
CREATE TABLE pf.replay_judgement (
  place int, name bytea, bytes bytea NOT NULL, expiry bigint NOT NULL, PRIMARY KEY (place, name));
CREATE INDEX replay_judgement_expiry ON pf.replay_judgement (place, expiry);
-- The events of each device, as ProofBackend counts them.
CREATE TABLE pf.replay_meter (
  place int, device bytea, bytes bytea NOT NULL, last bigint NOT NULL, PRIMARY KEY (place, device));
CREATE INDEX replay_meter_last ON pf.replay_meter (place, last);
-- The time when a device named a user account last.
CREATE TABLE pf.replay_pair (
  place int, device bytea, named bytea, last bigint NOT NULL, PRIMARY KEY (place, device, named));
CREATE INDEX replay_pair_device ON pf.replay_pair (place, device, last);
CREATE INDEX replay_pair_named ON pf.replay_pair (place, named, last);
CREATE INDEX replay_pair_last ON pf.replay_pair (place, last);

-- The place of an audience, which is made if it is missing.
CREATE FUNCTION pf2.open_replay(a int, who bytea) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO pf.replay (account, audience) VALUES (a, who) ON CONFLICT DO NOTHING;
  RETURN (SELECT place FROM pf.replay WHERE account = a AND audience = who);
END $$;

-- The highest time, and the time up to which used keys may be missing. They may be for a new place, and for one that
-- was silent for a minute: the database may be a backup.
CREATE FUNCTION pf2.begin_replay(p int, moment bigint) RETURNS TABLE (highest bigint, gap bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  UPDATE pf.replay r SET gap = CASE WHEN r.gap IS NULL OR moment > r.highest + 60
      THEN greatest(r.gap, r.highest, moment) ELSE r.gap END
    WHERE r.place = p RETURNING r.highest, r.gap
$$;

-- Takes the place's lock and the time. Forgets what ended before the highest time, and answers that time.
CREATE FUNCTION pf.replay_time(p int, moment bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held bigint;
BEGIN
  SELECT r.highest INTO STRICT held FROM pf.replay r WHERE r.place = p FOR UPDATE;
  IF moment <= held THEN RETURN held; END IF;
  UPDATE pf.replay r SET highest = moment WHERE r.place = p;
  DELETE FROM pf.replay_used u WHERE u.place = p AND u.expiry < moment;
  DELETE FROM pf.replay_judgement j WHERE j.place = p AND j.expiry < moment;
  -- EventCounts.retention of ProofBackend.
  DELETE FROM pf.replay_meter m WHERE m.place = p AND m.last < moment - 90000;
  DELETE FROM pf.replay_pair q WHERE q.place = p AND q.last < moment - 90000;
  RETURN moment;
END $$;

CREATE FUNCTION pf2.replay_insert(p int, moment bigint, k bytea, expires bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pf.replay_time(p, moment);
  INSERT INTO pf.replay_used VALUES (p, k, expires) ON CONFLICT DO NOTHING;
  RETURN FOUND;
END $$;

CREATE FUNCTION pf2.replay_judgement(p int, n bytea) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT bytes FROM pf.replay_judgement WHERE place = p AND name = n';

-- Records a judgement, and uses a key if it is not NULL. Outcomes: `recorded`; `known` with the judgement that stands
-- under the name; `used`. The last two write nothing.
CREATE FUNCTION pf2.replay_record(
  p int, moment bigint, n bytea, judged bytea, kept bigint, k bytea, expires bigint)
RETURNS TABLE (outcome text, known bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pf.replay_time(p, moment);
  SELECT 'known', j.bytes INTO outcome, known FROM pf.replay_judgement j WHERE j.place = p AND j.name = n;
  IF FOUND THEN RETURN NEXT; RETURN; END IF;
  IF k IS NOT NULL THEN
    INSERT INTO pf.replay_used VALUES (p, k, expires) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RETURN QUERY SELECT 'used', NULL::bytea; RETURN; END IF;
  END IF;
  INSERT INTO pf.replay_judgement VALUES (p, n, judged, kept);
  RETURN QUERY SELECT 'recorded', NULL::bytea;
END $$;

-- Counts of rows within a minute, an hour and a day, among the latest 256.
CREATE FUNCTION pf.replay_span(p int, of_device bytea, of_named bytea, moment bigint) RETURNS int[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT ARRAY[count(*) FILTER (WHERE last > moment - 60), count(*) FILTER (WHERE last > moment - 3600),
      count(*) FILTER (WHERE last > moment - 86400)]::int[]
    FROM (SELECT q.last FROM pf.replay_pair q WHERE q.place = p AND q.device = of_device AND of_named IS NULL
          UNION ALL
          SELECT q.last FROM pf.replay_pair q WHERE q.place = p AND q.named = of_named AND of_device IS NULL
          ORDER BY last DESC LIMIT 256) AS latest
$$;

-- The first half of a redemption: uses the key, and answers the counts. Outcomes: `new`; `known` with the judgement
-- that stands under the name; `used`. The caller judges, calls pf2.replay_judged and commits, in the same transaction.
CREATE FUNCTION pf2.replay_redeem(
  p int, moment bigint, n bytea, k bytea, expires bigint, d bytea, who bytea)
RETURNS TABLE (
  outcome text, known bytea, highest bigint, meter bytea, accounts_minute int, accounts_hour int, accounts_day int,
  devices_minute int, devices_hour int, devices_day int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  accounts int[];
  devices int[] := '{0,0,0}';
BEGIN
  -- The caller holds the place's lock until it commits. The server ends the session of one that was stopped meanwhile.
  PERFORM set_config('idle_in_transaction_session_timeout', '3s', true);
  highest := pf.replay_time(p, moment);
  SELECT 'known', j.bytes INTO outcome, known FROM pf.replay_judgement j WHERE j.place = p AND j.name = n;
  IF FOUND THEN RETURN NEXT; RETURN; END IF;
  INSERT INTO pf.replay_used VALUES (p, k, expires) ON CONFLICT DO NOTHING;
  outcome := CASE WHEN FOUND THEN 'new' ELSE 'used' END;
  IF outcome = 'used' THEN RETURN NEXT; RETURN; END IF;
  IF who IS NOT NULL THEN
    INSERT INTO pf.replay_pair AS q VALUES (p, d, who, highest)
      ON CONFLICT (place, device, named) DO UPDATE SET last = greatest(q.last, excluded.last);
    devices := pf.replay_span(p, NULL, who, highest);
  END IF;
  accounts := pf.replay_span(p, d, NULL, highest);
  SELECT m.bytes INTO meter FROM pf.replay_meter m WHERE m.place = p AND m.device = d;
  accounts_minute := accounts[1];
  accounts_hour := accounts[2];
  accounts_day := accounts[3];
  devices_minute := devices[1];
  devices_hour := devices[2];
  devices_day := devices[3];
  RETURN NEXT;
END $$;

-- The second half: writes the device's events, and the judgement if it has a name.
CREATE FUNCTION pf2.replay_judged(
  p int, d bytea, meter bytea, moment bigint, n bytea, judged bytea, kept bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO pf.replay_meter VALUES (p, d, meter, moment)
    ON CONFLICT (place, device) DO UPDATE SET bytes = excluded.bytes, last = excluded.last;
  IF n IS NOT NULL THEN INSERT INTO pf.replay_judgement VALUES (p, n, judged, kept); END IF;
END $$;

CREATE FUNCTION pf2.replay_forget(p int, who bytea) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH gone AS (DELETE FROM pf.replay_pair WHERE place = p AND named = who RETURNING 1) SELECT count(*) FROM gone
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pf, pf2 FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pf2 TO proof_service;
