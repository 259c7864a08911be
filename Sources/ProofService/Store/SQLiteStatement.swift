// SPDX-License-Identifier: Apache-2.0

/// Every statement that is prepared once and kept, and the schema.
enum SQLiteStatement: Int, CaseIterable {
  case row, rows, insertRow, putRow, removeRow, counter, advance, raiseLast,
    deadSlots, raiseFloor, device, glance, latestDevices, sightAgain, sight, eldestDevices,
    fillHours, dropDevice, raise,
    line,
    linesOfDevice, raiseLine, dropLines, countDevices, begin, commit, rollBack,
    mark, rollBackToMark, forgetMark

  var sql: String {
    switch self {
    case .row: "SELECT value FROM row WHERE tbl = ? AND key = ?"
    case .rows: "SELECT key, value FROM row WHERE tbl = ? ORDER BY key"
    case .insertRow: "INSERT INTO row (tbl, key, value) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    case .putRow: "INSERT OR REPLACE INTO row (tbl, key, value) VALUES (?, ?, ?)"
    case .removeRow: "DELETE FROM row WHERE tbl = ? AND key = ?"
    case .counter: "SELECT value FROM counter WHERE name = ?"
    case .advance:
      """
      INSERT INTO counter (name, value) VALUES (?, ?)
      ON CONFLICT DO UPDATE SET value = value + excluded.value
      """
    case .raiseLast: "UPDATE spent_ring SET last = ?2 WHERE slot = ?1 AND last < ?2"
    case .deadSlots: "SELECT slot FROM spent_ring WHERE last > 0 AND last < ?"
    case .raiseFloor: "UPDATE spent_ring SET floor = last + 1, last = 0 WHERE slot = ?"
    case .device:
      """
      SELECT device, first_seen, last_seen, generation, note, version FROM device WHERE device = ?
      """
    case .glance: "SELECT \(Self.glanceColumns) FROM \(Self.glanceTables)"
    case .latestDevices:
      """
      SELECT device, first_seen, last_seen, generation, note, version FROM device
      ORDER BY seen_hour DESC, last_seen DESC, device LIMIT ?
      """
    case .sightAgain:
      """
      UPDATE device SET last_seen = max(last_seen, ?2), generation = max(generation, ?3), note = ?4,
      version = version + 1 WHERE device = ?1 AND seen_hour >= ?2 / 3600
      """
    case .sight:
      """
      INSERT INTO device (device, first_seen, last_seen, seen_hour, generation, note, version)
      VALUES (?, ?2, ?2, ?2 / 3600, ?3, ?4, 1)
      ON CONFLICT DO UPDATE SET last_seen = max(last_seen, excluded.last_seen),
      seen_hour = max(seen_hour, excluded.seen_hour),
      generation = max(generation, excluded.generation), note = excluded.note, version = version + 1
      """
    case .eldestDevices:
      """
      SELECT device, first_seen, last_seen, generation, x'', version FROM device
      WHERE seen_hour <= ?1 / 3600 AND last_seen < ?1 ORDER BY seen_hour, last_seen LIMIT ?2
      """
    case .fillHours: "UPDATE device SET seen_hour = last_seen / 3600"
    case .dropDevice: "DELETE FROM device WHERE device = ?"
    case .raise:
      """
      INSERT INTO counter (name, value) VALUES (?, ?)
      ON CONFLICT DO UPDATE SET value = max(value, excluded.value)
      """
    case .line: "SELECT generation FROM gate_line WHERE device = ? AND gate = ?"
    case .linesOfDevice: "SELECT max(generation) FROM gate_line WHERE device = ?"
    case .raiseLine:
      """
      INSERT INTO gate_line (device, gate, generation) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET generation = max(generation, excluded.generation)
      """
    case .dropLines: "DELETE FROM gate_line WHERE device = ?"
    case .countDevices: "SELECT count(*) FROM device"
    case .begin: "BEGIN IMMEDIATE"
    case .commit: "COMMIT"
    case .rollBack: "ROLLBACK"
    case .mark: "SAVEPOINT job"
    case .rollBackToMark: "ROLLBACK TO job"
    case .forgetMark: "RELEASE job"
    }
  }

  /// The revision, and a device's row.
  fileprivate static let glanceColumns = """
    (SELECT value FROM counter WHERE name = ?1), d.device, d.first_seen, d.last_seen, d.generation,
    d.note, d.version
    """
  fileprivate static let glanceTables = "(SELECT 1) LEFT JOIN device AS d ON d.device = ?2"

  /// "PfSt": distinguishes the service's files from other SQLite files.
  static let applicationID: Int64 = 0x5066_5374
  /// The schema's version. A file of a newer version is not changed.
  static let schemaVersion: Int64 = 3

  /// Keys and names are UTF-8 bytes, so that they compare as bytes.
  static let schema = """
    CREATE TABLE row (tbl INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
      PRIMARY KEY (tbl, key)) STRICT, WITHOUT ROWID;
    CREATE TABLE counter (name BLOB PRIMARY KEY NOT NULL, value INTEGER NOT NULL)
      STRICT, WITHOUT ROWID;
    CREATE TABLE device (device BLOB PRIMARY KEY NOT NULL, first_seen INTEGER NOT NULL,
      last_seen INTEGER NOT NULL, generation INTEGER NOT NULL, note BLOB NOT NULL,
      version INTEGER NOT NULL DEFAULT 1, seen_hour INTEGER NOT NULL DEFAULT 0)
      STRICT, WITHOUT ROWID;
    \(seenIndex)
    \(additions)
    \(spentTables)
    """

  /// Orders devices by the hour in which they were last seen. By the second, each attestation would
  /// write one or two pages of the index.
  private static let seenIndex = "CREATE INDEX device_seen_hour ON device (seen_hour);"

  /// Tables that some stores of version 1 lack.
  private static let additions = """
    CREATE TABLE IF NOT EXISTS gate_line (device BLOB NOT NULL, gate BLOB NOT NULL,
      generation INTEGER NOT NULL, PRIMARY KEY (device, gate)) STRICT, WITHOUT ROWID;
    """

  /// The ring of ``SpentRing``. The tables have row ids, so that marks are appended: in the order of
  /// their keys each mark would write a page of its own.
  private static let spentTables = """
    CREATE TABLE spent_ring (slot INTEGER PRIMARY KEY NOT NULL, floor INTEGER NOT NULL,
      last INTEGER NOT NULL) STRICT;
    \(slots.map(spentTable).joined(separator: "\n"))
    """

  private static func spentTable(_ slot: Int) -> String {
    """
    INSERT INTO spent_ring (slot, floor, last) VALUES (\(slot), 0, 0);
    CREATE TABLE spent_\(slot) \(spentColumns)
    """
  }

  /// The place comes first: by ``SpentRing/place(of:)``, marks that are made at the same time share
  /// the index's pages.
  private static let spentColumns = """
    (place INTEGER NOT NULL, device BLOB NOT NULL, salt BLOB NOT NULL,
      report BLOB NOT NULL, answer BLOB NOT NULL, UNIQUE (place, device, salt)) STRICT;
    """

  private static let slots = 0..<SpentRing.slotCount

  /// As version 2 had it.
  private static let spentTables2 = """
    CREATE TABLE spent_ring (slot INTEGER PRIMARY KEY NOT NULL, floor INTEGER NOT NULL,
      last INTEGER NOT NULL) STRICT;
    \(slots.map {
      """
      INSERT INTO spent_ring (slot, floor, last) VALUES (\($0), 0, 0);
      CREATE TABLE spent_\($0) (device BLOB NOT NULL, salt BLOB NOT NULL, report BLOB NOT NULL,
        answer BLOB NOT NULL, UNIQUE (device, salt)) STRICT;
      """
    }.joined(separator: "\n"))
    """

  /// Gives the marks of version 2 their places.
  private static func placeMarks(_ slot: Int) -> String {
    // SQLite has no function for the number of a byte.
    func byte(_ index: Int) -> String {
      func digit(_ number: Int) -> String {
        "instr('123456789ABCDEF', substr(hex(salt), \(2 * index + number), 1))"
      }
      return "(\(digit(1)) * 16 + \(digit(2)))"
    }
    let place = SpentRing.placeBytes.map(byte).reduce("0") { "(\($0)) * 256 + \($1)" }
    return """
      ALTER TABLE spent_\(slot) RENAME TO spent_before;
      CREATE TABLE spent_\(slot) \(spentColumns)
      INSERT INTO spent_\(slot) (place, device, salt, report, answer)
        SELECT \(place), device, salt, report, answer FROM spent_before ORDER BY rowid;
      DROP TABLE spent_before;
      """
  }

  /// The steps from version 1 on, each from one version to the next. A salt of version 1 that waits
  /// for its report is dropped, and its app asks again.
  static let migrations: [String] = [
    """
    \(additions)
    ALTER TABLE device ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
    DROP TABLE salt;
    \(spentTables2)
    """,
    """
    ALTER TABLE device ADD COLUMN seen_hour INTEGER NOT NULL DEFAULT 0;
    \(SQLiteStatement.fillHours.sql);
    DROP INDEX IF EXISTS device_last_seen;
    \(seenIndex)
    \(slots.map(placeMarks).joined(separator: "\n"))
    """,
  ]
}

/// A statement about one table of ``SpentRing``, prepared once and kept.
struct SpentStatement: Hashable {
  enum Verb: Int, CaseIterable {
    /// All that a use is judged by: the revision, the slot's bounds, the mark and the device.
    case facts
    /// As ``SQLiteStatement/glance``, with the mark of a salt.
    case glance
    case insert
    /// Has no condition, so that SQLite frees the table's pages and visits no row.
    case clear
  }

  let verb: Verb
  let slot: Int

  /// The number among all of them.
  var number: Int { verb.rawValue * SpentRing.slotCount + slot }
  static let count = Verb.allCases.count * SpentRing.slotCount

  var sql: String {
    switch verb {
    case .facts:
      """
      SELECT (SELECT value FROM counter WHERE name = ?1), r.floor, r.last, s.rowid IS NOT NULL,
      s.report, s.answer, d.version, d.generation FROM spent_ring AS r
      LEFT JOIN spent_\(slot) AS s ON s.place = ?4 AND s.device = ?2 AND s.salt = ?3
      LEFT JOIN device AS d ON d.device = ?2 WHERE r.slot = \(slot)
      """
    case .glance:
      """
      SELECT \(SQLiteStatement.glanceColumns), s.report, s.answer FROM \(SQLiteStatement.glanceTables)
      LEFT JOIN spent_\(slot) AS s ON s.place = ?4 AND s.device = ?2 AND s.salt = ?3
      """
    case .insert:
      "INSERT INTO spent_\(slot) (device, salt, place, report, answer) VALUES (?, ?, ?, ?, ?)"
    case .clear: "DELETE FROM spent_\(slot)"
    }
  }
}
