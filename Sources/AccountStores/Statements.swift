// SPDX-License-Identifier: Apache-2.0

internal import PostgresStore

// Every statement of the store, prepared once on each connection.

extension PostgresStatement {
  static let accounts = PostgresStatement("accounts", "SELECT account FROM pf2.accounts($1::bytea)")
  static let makeAccount = PostgresStatement(
    "make_account", "SELECT pf2.make_account($1::bytea)")

  static let row = PostgresStatement(
    "row", "SELECT value FROM pf1.row($1::int4, $2::int2, $3::bytea)")
  static let rows = PostgresStatement("rows", "SELECT key, value FROM pf2.rows($1::int4, $2::int2)")
  /// The first row is the revision's. The functions read by the statement's own snapshot.
  static let image = PostgresStatement(
    "image",
    """
    SELECT 0::int2, ''::bytea, ''::bytea, revision
    FROM pf2.see($1::int4, ''::bytea, NULL, NULL)
    UNION ALL
    SELECT wanted.tbl, r.key, r.value, 0 FROM unnest($2::int2[]) AS wanted (tbl),
      LATERAL pf2.rows($1::int4, wanted.tbl) r
    ORDER BY 1, 2
    """)
  static let apply = PostgresStatement(
    "apply",
    """
    SELECT outcome, place FROM pf2.apply($1::int4, $2::bytea, $3::bool, $4::int2[], $5::int2[],
      $6::bytea[], $7::bytea[])
    """)
  static let advance = PostgresStatement(
    "advance", "SELECT pf1.block($1::int4, $2::bytea, $3::int8)")
  static let counter = PostgresStatement("counter", "SELECT pf2.counter($1::int4, $2::bytea)")

  static let lease = PostgresStatement("lease", "SELECT pf2.lease($1::int4, $2::bytea)")
  static let afterRestore = PostgresStatement(
    "after_restore", "SELECT pf2.after_restore($1::int4, $2::int8, $3::int8, $4::int8)")

  /// Slot and salt are NULL where no mark is asked for.
  static let see = PostgresStatement(
    "see",
    """
    SELECT revision, version, generation, first_seen, last_seen, note, floor, report, answer
    FROM pf2.see($1::int4, $2::bytea, $3::int2, $4::bytea)
    """)
  static let line = PostgresStatement("line", "SELECT pf2.line($1::int4, $2::bytea, $3::bytea)")
  static let latestDevices = PostgresStatement(
    "latest_devices",
    """
    SELECT device, version, generation, first_seen, last_seen, note
    FROM pf2.latest_devices($1::int4, $2::int8)
    """)
  static let countDevices = PostgresStatement(
    "count_devices", "SELECT pf1.count_devices($1::int4)")
  /// The age is rounded up, so that it is a bound. A row without device stands for an account without devices.
  static let surveyDevices = PostgresStatement(
    "survey_devices",
    """
    SELECT ceil(of.age)::int8, device, version, generation, first_seen, last_seen, note
    FROM pf2.age($1::int4) AS of (age) LEFT JOIN pf2.latest_devices($1::int4, $2::int8) ON true
    """)
  static let surveyCounts = PostgresStatement(
    "survey_counts",
    "SELECT ceil(pf2.age($1::int4))::int8, pf1.count_devices($1::int4)")
  static let dropDevices = PostgresStatement(
    "drop_devices", "SELECT pf2.drop_devices($1::int4, $2::int8, $3::int8)")
  static let dropMarks = PostgresStatement("drop_marks", "SELECT pf2.drop_marks($1::int8)")
  static let time = PostgresStatement("time", "SELECT extract(epoch FROM clock_timestamp())::int8")
}
