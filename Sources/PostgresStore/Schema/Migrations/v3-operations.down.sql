-- SPDX-License-Identifier: Apache-2.0
--
-- Drops functions only. Rows, counters, events and the ledger stay.

DROP FUNCTION pf1.note_revocation(int, bytea, bytea, bigint);
DROP FUNCTION pf1.note_issue(int, bytea, bytea, bigint);
DROP FUNCTION pf1.count_events(int, bytea);
DROP FUNCTION pf1.redeem_event(int, int, bytea, bytea, smallint);
DROP FUNCTION pf.mark_event(int, int, bytea);
DROP FUNCTION pf1.count_devices(int);
DROP FUNCTION pf1.block(int, bytea, bigint);
DROP FUNCTION pf1.apply(int, bytea, smallint, bytea, bytea, bytea);
DROP FUNCTION pf1.row(int, smallint, bytea);
DROP FUNCTION pf1.open_account(int, bytea);
DROP FUNCTION pf1.see(int, bytea);
