-- SPDX-License-Identifier: Apache-2.0
--
-- Drops the ledgers of backends if none was opened. The lock keeps one from being opened meanwhile.

LOCK TABLE pf.ledger IN ACCESS EXCLUSIVE MODE;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pf.ledger) THEN
    RAISE EXCEPTION 'table pf.ledger holds rows of backends; moving back would lose them' USING ERRCODE = '55006';
  END IF;
END $$;

DROP FUNCTION pf2.ledger_notes(int, bytea, bytea, int);
DROP FUNCTION pf2.ledger_latest(int);
DROP FUNCTION pf2.ledger_revoke(int, bytea, bytea, bigint, bigint);
DROP FUNCTION pf2.ledger_issue(int, bytea, bytea, bigint, bigint, boolean, bigint);
DROP FUNCTION pf2.open_ledger(bytea);
DROP TABLE pf.ledger_sealed;
DROP TABLE pf.ledger_pair;
DROP TABLE pf.ledger;

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

REVOKE ALL ON FUNCTION pf1.note_issue(int, bytea, bytea, bigint),
  pf1.note_revocation(int, bytea, bytea, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pf1.note_issue(int, bytea, bytea, bigint),
  pf1.note_revocation(int, bytea, bytea, bigint) TO proof_service;
