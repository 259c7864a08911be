-- SPDX-License-Identifier: Apache-2.0
--
-- Drops pf2.age. Rows stay.

DROP FUNCTION pf2.age(int);
