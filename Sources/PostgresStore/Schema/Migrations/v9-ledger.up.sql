-- SPDX-License-Identifier: Apache-2.0
--
-- The ledgers of backends: which generations were issued and revoked, for an installation at a piece of hardware.
--
-- A ledger has a name and belongs to no account: it outlives an account that moves away. The table pf.issue of version
-- 1 was never written; it goes with the step after this one, because a mover of version 8 still looks into it.

CREATE TABLE pf.ledger (place int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name bytea NOT NULL UNIQUE);
CREATE TABLE pf.ledger_pair (
  place int REFERENCES pf.ledger, instance bytea, hardware bytea, issued bigint NOT NULL, revoked bigint NOT NULL,
  moment bigint NOT NULL, PRIMARY KEY (place, instance, hardware));
CREATE INDEX ledger_pair_moment ON pf.ledger_pair (place, moment);
-- The hardware that got a token of suite 2.
CREATE TABLE pf.ledger_sealed (place int REFERENCES pf.ledger, hardware bytea, PRIMARY KEY (place, hardware));

-- The place of a ledger, which is made if it is missing.
CREATE FUNCTION pf2.open_ledger(called bytea) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO pf.ledger (name) VALUES (called) ON CONFLICT DO NOTHING;
  RETURN (SELECT place FROM pf.ledger WHERE name = called);
END $$;

-- Notes that generation `g` of a fetch whose present pair is `base` is issued; `seals` for suite 2. Or says why not.
--
-- The condition stands in the write. What is read before it only names the reason, so a note that another session
-- commits in between leads to another round.
CREATE FUNCTION pf2.ledger_issue(p int, i bytea, h bytea, g bigint, base bigint, seals boolean, m bigint)
RETURNS TABLE (outcome text, known bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held record;
BEGIN
  LOOP
    SELECT coalesce(max(l.issued), 0) AS issued, coalesce(max(l.revoked), 0) AS revoked INTO held
      FROM pf.ledger_pair l WHERE l.place = p AND l.instance = i AND l.hardware = h;
    IF g <= held.revoked THEN RETURN QUERY SELECT 'revoked', held.revoked; RETURN; END IF;
    IF g < held.issued THEN RETURN QUERY SELECT 'superseded', held.issued; RETURN; END IF;
    IF NOT seals THEN
      PERFORM FROM pf.ledger_sealed s WHERE s.place = p AND s.hardware = h;
      IF FOUND THEN RETURN QUERY SELECT 'downgraded', 0::bigint; RETURN; END IF;
    END IF;
    INSERT INTO pf.ledger_pair AS l VALUES (p, i, h, base, 0, m) ON CONFLICT (place, instance, hardware)
      DO UPDATE SET issued = greatest(l.issued, base), moment = greatest(l.moment, m)
      WHERE l.issued <= g AND l.revoked < g;
    EXIT WHEN FOUND;
  END LOOP;
  IF seals THEN INSERT INTO pf.ledger_sealed VALUES (p, h) ON CONFLICT DO NOTHING; END IF;
  RETURN QUERY SELECT 'issued', 0::bigint;
END $$;

CREATE FUNCTION pf2.ledger_revoke(p int, i bytea, h bytea, g bigint, m bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO pf.ledger_pair AS l VALUES (p, i, h, 0, g, m) ON CONFLICT (place, instance, hardware)
    DO UPDATE SET revoked = greatest(l.revoked, g), moment = greatest(l.moment, m)
$$;

-- The latest time of a note; NULL without one.
CREATE FUNCTION pf2.ledger_latest(p int) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT max(moment) FROM pf.ledger_pair WHERE place = p';

-- Up to `most` notes behind a pair, in the order of pairs.
CREATE FUNCTION pf2.ledger_notes(p int, behind_i bytea, behind_h bytea, most int)
RETURNS TABLE (instance bytea, hardware bytea, issued bigint, revoked bigint, sealed boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.instance, l.hardware, l.issued, l.revoked,
      EXISTS (SELECT FROM pf.ledger_sealed s WHERE s.place = p AND s.hardware = l.hardware)
    FROM pf.ledger_pair l WHERE l.place = p AND (l.instance, l.hardware) > (behind_i, behind_h)
    ORDER BY l.instance, l.hardware LIMIT most
$$;

-- No program called them: they knew neither the base of a fetch nor the suite of a token.
DROP FUNCTION pf1.note_issue(int, bytea, bytea, bigint);
DROP FUNCTION pf1.note_revocation(int, bytea, bytea, bigint);

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pf, pf2 FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pf2.open_ledger(bytea), pf2.ledger_issue(int, bytea, bytea, bigint, bigint, boolean, bigint),
  pf2.ledger_revoke(int, bytea, bytea, bigint, bigint), pf2.ledger_latest(int),
  pf2.ledger_notes(int, bytea, bytea, int) TO proof_service;
