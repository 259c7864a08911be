-- SPDX-License-Identifier: Apache-2.0
--
-- Leases: a connection that reads renews one by a commit. A primary that was cut off from its synchronous standby
-- commits nothing, so its readings are refused when the lease ends. Also restored backups.

-- A row for each connection that reads. It holds nothing that must survive.
CREATE TABLE pf.node (
  account int, node bytea, seen timestamptz NOT NULL, PRIMARY KEY (account, node)) WITH (fillfactor = 50);

CREATE FUNCTION pf2.lease(a int, who bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE pf.node SET seen = clock_timestamp() WHERE account = a AND node = who;
  IF FOUND THEN RETURN; END IF;
  -- Connections that ended leave their rows.
  DELETE FROM pf.node WHERE (account, node) IN (
    SELECT n.account, n.node FROM pf.node n WHERE n.account = a AND n.seen < clock_timestamp() - interval '1 hour'
      FOR UPDATE SKIP LOCKED);
  INSERT INTO pf.node SELECT account, who, clock_timestamp() FROM pf.account WHERE account = a ON CONFLICT DO NOTHING;
END $$;

-- After a restored backup: no challenge that ends before `minute` is accepted any more, no number of a counter is
-- given again within `block`, and places of event tokens count as incomplete up to `moment`. Calls it again and again
-- without harm.
CREATE FUNCTION pf2.after_restore(a int, minute bigint, block bigint, moment bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pf.present(a);
  UPDATE pf.spent_ring SET floor_minute = greatest(floor_minute, minute);
  UPDATE pf.counter SET value = value + block WHERE account = a AND name LIKE 'counter.%';
  UPDATE pf.replay SET gap = greatest(gap, highest, moment) WHERE account = a;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pf, pf2 FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pf2.lease(int, bytea) TO proof_service;
GRANT EXECUTE ON FUNCTION pf2.after_restore(int, bigint, bigint, bigint) TO proof_service;
