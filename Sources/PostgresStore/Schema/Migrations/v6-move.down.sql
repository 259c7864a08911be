-- SPDX-License-Identifier: Apache-2.0
--
-- Restores the functions of version 5, and drops the table of moves if it is empty: without its row an account that was
-- moved away would be served again. The lock keeps a writer from adding one meanwhile.

LOCK TABLE pf.move IN ACCESS EXCLUSIVE MODE;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pf.move) THEN
    RAISE EXCEPTION 'table pf.move holds rows; moving back would lose them' USING ERRCODE = '55006';
  END IF;
END $$;
CREATE OR REPLACE FUNCTION pf1.block(a int, c bytea, n bigint) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO pf.counter AS held (account, name, value) VALUES (a, c, n)
    ON CONFLICT (account, name) DO UPDATE SET value = held.value + n RETURNING value - n
$$;
CREATE OR REPLACE FUNCTION pf2.open_replay(a int, who bytea) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO pf.replay (account, audience) VALUES (a, who) ON CONFLICT DO NOTHING;
  RETURN (SELECT place FROM pf.replay WHERE account = a AND audience = who);
END $$;
CREATE OR REPLACE FUNCTION pf2.make_account(called bytea) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(20561, 0);
  INSERT INTO pf.account (account, name) SELECT coalesce(max(account), 0) + 1, called FROM pf.account
    ON CONFLICT DO NOTHING;
  RETURN (SELECT account FROM pf.account WHERE name = called);
END $$;
CREATE OR REPLACE FUNCTION pf2.accounts(called bytea) RETURNS TABLE (account int, name bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.account, a.name FROM pf.account a WHERE called IS NULL OR a.name = called ORDER BY a.account LIMIT 2
$$;
DROP FUNCTION pf.present(int);
DROP TABLE pf.move;
