-- SPDX-License-Identifier: Apache-2.0
--
-- Accounts that move between stores. An account that was moved away has its number negated: no function finds it, so a
-- service that still runs refuses every request. Its rows stay under the positive number, which is not given again.

-- `id` is the move's. `arrived`: the account came here by this move. Otherwise it was moved away, to `place`, where
-- `salts` replaces the document of the salts' keys.
CREATE TABLE pf.move (
  account int, arrived boolean, id bytea NOT NULL, name bytea NOT NULL, place bytea NOT NULL, salts bytea NOT NULL,
  PRIMARY KEY (account, arrived));

-- Takes an account's lock, and refuses an account that was moved away or does not exist.
CREATE FUNCTION pf.present(a int) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(20561, a);
  PERFORM FROM pf.account WHERE account = a;
  IF NOT FOUND THEN RAISE EXCEPTION 'the account is not in this database' USING ERRCODE = '02000'; END IF;
END $$;

-- A block that was reserved after the account's counters were copied would be given twice.
CREATE OR REPLACE FUNCTION pf1.block(a int, c bytea, n bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  earlier bigint;
BEGIN
  PERFORM pf.present(a);
  INSERT INTO pf.counter AS held (account, name, value) VALUES (a, c, n)
    ON CONFLICT (account, name) DO UPDATE SET value = held.value + n RETURNING value - n INTO earlier;
  RETURN earlier;
END $$;

-- A place that was opened after the account moved would accept events on both sides.
CREATE OR REPLACE FUNCTION pf2.open_replay(a int, who bytea) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pf.present(a);
  INSERT INTO pf.replay (account, audience) VALUES (a, who) ON CONFLICT DO NOTHING;
  RETURN (SELECT place FROM pf.replay WHERE account = a AND audience = who);
END $$;

CREATE OR REPLACE FUNCTION pf2.make_account(called bytea) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(20561, 0);
  INSERT INTO pf.account (account, name) SELECT coalesce(max(abs(account)), 0) + 1, called FROM pf.account
    ON CONFLICT DO NOTHING;
  RETURN (SELECT account FROM pf.account WHERE name = called);
END $$;

-- The account with a name, or for NULL the first two accounts, those that were moved away only if there is no other.
CREATE OR REPLACE FUNCTION pf2.accounts(called bytea) RETURNS TABLE (account int, name bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.account, a.name FROM pf.account a
    WHERE a.name = called
      OR called IS NULL AND (a.account > 0 OR NOT EXISTS (SELECT FROM pf.account b WHERE b.account > 0))
    ORDER BY abs(a.account) LIMIT 2
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pf, pf1, pf2 FROM PUBLIC;
