-- SPDX-License-Identifier: Apache-2.0
--
-- Drops the functions of gates if no gate opened a place. The lock keeps one from opening a place meanwhile.

LOCK TABLE pf.replay IN ACCESS EXCLUSIVE MODE;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pf.replay WHERE account = 0) THEN
    RAISE EXCEPTION 'table pf.replay holds rows of gates; moving back would lose them' USING ERRCODE = '55006';
  END IF;
END $$;

DROP FUNCTION pf.grant_gate();
DROP SCHEMA pfg CASCADE;
DROP FUNCTION pf.of_gate(int);
DO $$ BEGIN
  PERFORM FROM pg_roles WHERE rolname = 'proof_gate';
  IF FOUND THEN
    REVOKE ALL ON SCHEMA pf1 FROM proof_gate;
    REVOKE ALL ON FUNCTION pf1.schema() FROM proof_gate;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION pf2.after_restore(a int, minute bigint, block bigint, moment bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pf.present(a);
  UPDATE pf.spent_ring SET floor_minute = greatest(floor_minute, minute);
  UPDATE pf.counter SET value = value + block WHERE account = a AND name LIKE 'counter.%';
  UPDATE pf.replay SET gap = greatest(gap, highest, moment) WHERE account = a;
END $$;
