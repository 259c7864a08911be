-- SPDX-License-Identifier: Apache-2.0
--
-- Drops functions only. Marks, floors and devices stay.

DROP FUNCTION pf1.sweep(smallint);
DROP FUNCTION pf1.use(int, smallint, int, bytea, bytea, bigint, bigint, boolean, bytea, bytea, bytea, bigint);
DROP FUNCTION pf1.use_many(int[], smallint[], int[], bytea[], bytea[], bigint[], bigint[], boolean[], bytea[], bytea[],
  bytea[], bigint[]);
DROP FUNCTION pf.marked(smallint, int, bytea, bytea, bytea);
DROP FUNCTION pf.mark_refused(smallint, int, bytea, bytea);
DROP FUNCTION pf.unmark(smallint, int, bytea, bytea);
DROP FUNCTION pf.mark(smallint, int, int, bytea, bytea, bytea, bytea);
DROP FUNCTION pf.lock_spent(smallint);
