-- SPDX-License-Identifier: Apache-2.0
--
-- Drops functions, and tables if no place was opened. A place has used keys, or the time up to which they may be
-- missing. The lock keeps a writer from opening one meanwhile.

LOCK TABLE pf.replay IN ACCESS EXCLUSIVE MODE;
DO $$
BEGIN
  IF EXISTS (SELECT FROM pf.replay) THEN
    RAISE EXCEPTION 'table pf.replay holds rows; moving back would lose them' USING ERRCODE = '55006';
  END IF;
END $$;
DROP FUNCTION pf2.replay_forget(int, bytea);
DROP FUNCTION pf2.replay_judged(int, bytea, bytea, bigint, bytea, bytea, bigint);
DROP FUNCTION pf2.replay_redeem(int, bigint, bytea, bytea, bigint, bytea, bytea);
DROP FUNCTION pf.replay_span(int, bytea, bytea, bigint);
DROP FUNCTION pf2.replay_record(int, bigint, bytea, bytea, bigint, bytea, bigint);
DROP FUNCTION pf2.replay_judgement(int, bytea);
DROP FUNCTION pf2.replay_insert(int, bigint, bytea, bigint);
DROP FUNCTION pf.replay_time(int, bigint);
DROP FUNCTION pf2.begin_replay(int, bigint);
DROP FUNCTION pf2.open_replay(int, bytea);
DROP TABLE pf.replay_pair, pf.replay_meter, pf.replay_judgement, pf.replay_used, pf.replay;
