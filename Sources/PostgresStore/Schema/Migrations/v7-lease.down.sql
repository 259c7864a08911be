-- SPDX-License-Identifier: Apache-2.0
--
-- Programs of version 6 renew no lease. The rows of leases hold nothing that must survive.

DROP FUNCTION pf2.after_restore(int, bigint, bigint, bigint);
DROP FUNCTION pf2.lease(int, bytea);
DROP TABLE pf.node;
