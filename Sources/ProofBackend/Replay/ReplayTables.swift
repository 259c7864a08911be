// SPDX-License-Identifier: Apache-2.0

/// The tables of a replay store in SQLite, and their names in a file that has others.
struct ReplayTables {
  let used: String
  let judgement: String
  let note: String
  /// The events of each device.
  let meter: String
  /// When a device named an account last.
  let pair: String

  init(_ prefix: String) {
    used = prefix + "used"
    judgement = prefix + "judgement"
    note = prefix + "note"
    meter = prefix + "meter"
    pair = prefix + "pair"
  }

  /// Makes the tables that are missing.
  var made: String {
    """
    CREATE TABLE IF NOT EXISTS \(used) (key BLOB PRIMARY KEY NOT NULL, expiry INTEGER NOT NULL)
      STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS \(used)_expiry ON \(used) (expiry);
    CREATE TABLE IF NOT EXISTS \(judgement) (name BLOB PRIMARY KEY NOT NULL, bytes BLOB NOT NULL,
      expiry INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS \(judgement)_expiry ON \(judgement) (expiry);
    CREATE TABLE IF NOT EXISTS \(note) (id INTEGER PRIMARY KEY NOT NULL, number INTEGER NOT NULL,
      bytes BLOB NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS \(meter) (device BLOB PRIMARY KEY NOT NULL, bytes BLOB NOT NULL,
      last INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS \(meter)_last ON \(meter) (last);
    CREATE TABLE IF NOT EXISTS \(pair) (device BLOB NOT NULL, account BLOB NOT NULL, last INTEGER NOT NULL,
      PRIMARY KEY (device, account)) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS \(pair)_device ON \(pair) (device, last);
    CREATE INDEX IF NOT EXISTS \(pair)_account ON \(pair) (account, last);
    CREATE INDEX IF NOT EXISTS \(pair)_last ON \(pair) (last);
    """
  }

  /// Counts the tables that are there.
  var countMade: String {
    """
    SELECT count(*) FROM sqlite_master
    WHERE name IN ('\(used)', '\(judgement)', '\(note)', '\(meter)', '\(pair)')
    """
  }
}
