-- SPDX-License-Identifier: Apache-2.0
--
-- Drops functions, and the table of gates' lines if it is empty. A line holds a generation, which must not be lost. The
-- lock keeps a writer from adding one meanwhile.

LOCK TABLE pf.gate_line IN ACCESS EXCLUSIVE MODE;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pf.gate_line) THEN
    RAISE EXCEPTION 'table pf.gate_line holds rows; moving back would lose them' USING ERRCODE = '55006';
  END IF;
END $$;
DROP SCHEMA pf2 CASCADE;
DROP FUNCTION pf.generation(int, bytea, bytea);
DROP TABLE pf.gate_line;
GRANT EXECUTE ON FUNCTION pf1.sweep(smallint) TO proof_service;
GRANT EXECUTE ON FUNCTION
  pf1.use(int, smallint, int, bytea, bytea, bigint, bigint, boolean, bytea, bytea, bytea, bigint) TO proof_service;
GRANT EXECUTE ON FUNCTION pf1.use_many(int[], smallint[], int[], bytea[], bytea[], bigint[], bigint[], boolean[],
  bytea[], bytea[], bytea[], bigint[]) TO proof_service;
GRANT EXECUTE ON FUNCTION pf1.apply(int, bytea, smallint, bytea, bytea, bytea) TO proof_service;
