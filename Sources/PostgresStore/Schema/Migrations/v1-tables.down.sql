-- SPDX-License-Identifier: Apache-2.0
--
-- Drops the tables if they hold nothing that must not be lost: a use, a generation, a ban, a ledger entry, an
-- acknowledged operation, a counter. The locks keep a writer from adding one meanwhile.

DO $$
DECLARE
  tables text[] := ARRAY['account', 'row', 'counter', 'device', 'issue', 'operation', 'event_count'];
  tbl text;
  found boolean;
BEGIN
  FOR slot IN 0..63 LOOP
    tables := tables || ARRAY['spent_' || to_char(slot, 'FM00'), 'event_' || to_char(slot, 'FM00')];
  END LOOP;
  FOREACH tbl IN ARRAY tables LOOP
    EXECUTE format('LOCK TABLE pf.%I IN ACCESS EXCLUSIVE MODE', tbl);
    EXECUTE format('SELECT EXISTS (SELECT FROM pf.%I)', tbl) INTO found;
    IF found THEN
      RAISE EXCEPTION 'table pf.% holds rows; moving back would lose them', tbl USING ERRCODE = '55006';
    END IF;
  END LOOP;
  IF EXISTS (SELECT FROM pf.spent_ring WHERE floor_minute > 0) OR
     EXISTS (SELECT FROM pf.event_ring WHERE floor_minute > 0) THEN
    RAISE EXCEPTION 'a ring has a floor; moving back would lose it' USING ERRCODE = '55006';
  END IF;
END $$;
DROP SCHEMA pf1 CASCADE;
DROP SCHEMA pf CASCADE;
