-- SPDX-License-Identifier: Apache-2.0
--
-- Gates: the role proof_gate reaches the used proofs and event tokens of gates, and nothing of an account.

-- Places of gates stand under account 0, which no account has.
CREATE SCHEMA pfg;
REVOKE ALL ON SCHEMA pfg FROM PUBLIC;

CREATE FUNCTION pf.of_gate(p int) RETURNS int
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM pf.replay WHERE place = p AND account = 0;
  IF NOT FOUND THEN RAISE EXCEPTION 'place % is not that of a gate', p USING ERRCODE = '42501'; END IF;
  RETURN p;
END $$;

CREATE FUNCTION pfg.open_replay(a int, who bytea) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF a <> 0 THEN RAISE EXCEPTION 'a gate opens places of gates' USING ERRCODE = '42501'; END IF;
  INSERT INTO pf.replay (account, audience) VALUES (0, who) ON CONFLICT DO NOTHING;
  RETURN (SELECT place FROM pf.replay WHERE account = 0 AND audience = who);
END $$;

CREATE FUNCTION pfg.begin_replay(p int, moment bigint) RETURNS TABLE (highest bigint, gap bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT * FROM pf2.begin_replay(pf.of_gate(p), moment)';

CREATE FUNCTION pfg.replay_insert(p int, moment bigint, k bytea, expires bigint) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT pf2.replay_insert(pf.of_gate(p), moment, k, expires)';

CREATE FUNCTION pfg.replay_judgement(p int, n bytea) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT pf2.replay_judgement(pf.of_gate(p), n)';

CREATE FUNCTION pfg.replay_record(
  p int, moment bigint, n bytea, judged bytea, kept bigint, k bytea, expires bigint)
RETURNS TABLE (outcome text, known bytea)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT * FROM pf2.replay_record(pf.of_gate(p), moment, n, judged, kept, k, expires)';

CREATE FUNCTION pfg.replay_redeem(
  p int, moment bigint, n bytea, k bytea, expires bigint, d bytea, who bytea)
RETURNS TABLE (
  outcome text, known bytea, highest bigint, meter bytea, accounts_minute int, accounts_hour int, accounts_day int,
  devices_minute int, devices_hour int, devices_day int)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT * FROM pf2.replay_redeem(pf.of_gate(p), moment, n, k, expires, d, who)';

CREATE FUNCTION pfg.replay_judged(
  p int, d bytea, meter bytea, moment bigint, n bytea, judged bytea, kept bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT pf2.replay_judged(pf.of_gate(p), d, meter, moment, n, judged, kept)';

CREATE FUNCTION pfg.replay_forget(p int, who bytea) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT pf2.replay_forget(pf.of_gate(p), who)';

-- As before, and the places of gates count as incomplete too.
CREATE OR REPLACE FUNCTION pf2.after_restore(a int, minute bigint, block bigint, moment bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pf.present(a);
  UPDATE pf.spent_ring SET floor_minute = greatest(floor_minute, minute);
  UPDATE pf.counter SET value = value + block WHERE account = a AND name LIKE 'counter.%';
  UPDATE pf.replay SET gap = greatest(gap, highest, moment) WHERE account IN (a, 0);
END $$;

-- Gives the role proof_gate its rights, if a superuser has made it. `proofctl store migrate` calls it each time.
CREATE FUNCTION pf.grant_gate() RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM pg_roles WHERE rolname = 'proof_gate';
  IF NOT FOUND THEN RETURN false; END IF;
  GRANT USAGE ON SCHEMA pf1, pfg TO proof_gate;
  GRANT EXECUTE ON FUNCTION pf1.schema() TO proof_gate;
  GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pfg TO proof_gate;
  RETURN true;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pf, pf2, pfg FROM PUBLIC;
