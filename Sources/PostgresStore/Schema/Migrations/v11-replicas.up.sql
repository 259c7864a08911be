-- SPDX-License-Identifier: Apache-2.0
--
-- Readings from replicas, which say how old they are.

-- Seconds, by this server's clock, since the newest row that a connection of the account committed and that this
-- server has. Each change that was acknowledged before that row was begun is in the snapshot, too. NULL: no row.
-- STABLE, so that a statement's other readings have the same snapshot.
CREATE FUNCTION pf2.age(a int) RETURNS double precision
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT extract(epoch FROM clock_timestamp() - max(seen))::double precision FROM pf.node WHERE account = a';

REVOKE ALL ON FUNCTION pf2.age(int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pf2.age(int) TO proof_service;
