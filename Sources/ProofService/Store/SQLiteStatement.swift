/// Every statement that is prepared once and kept, and the schema.
enum SQLiteStatement: String, CaseIterable {
  case row = "SELECT value FROM row WHERE tbl = ? AND key = ?"
  case rows = "SELECT key, value FROM row WHERE tbl = ? ORDER BY key"
  case insertRow = "INSERT INTO row (tbl, key, value) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
  case putRow = "INSERT OR REPLACE INTO row (tbl, key, value) VALUES (?, ?, ?)"
  case removeRow = "DELETE FROM row WHERE tbl = ? AND key = ?"

  case counter = "SELECT value FROM counter WHERE name = ?"
  case advance = """
    INSERT INTO counter (name, value) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET value = value + excluded.value
    """

  case keepSalt = "INSERT OR REPLACE INTO salt (salt, expiry, note) VALUES (?, ?, ?)"
  case pendingSalt = "SELECT expiry, note FROM salt WHERE salt = ?"
  case useSalt = "DELETE FROM salt WHERE salt = ?"
  case dropSalts = "DELETE FROM salt WHERE expiry < ?"

  case device = """
    SELECT device, first_seen, last_seen, generation, note FROM device WHERE device = ?
    """
  case latestDevices = """
    SELECT device, first_seen, last_seen, generation, note FROM device
    ORDER BY last_seen DESC, device LIMIT ?
    """
  case sight = """
    INSERT INTO device (device, first_seen, last_seen, generation, note) VALUES (?, ?2, ?2, ?3, ?4)
    ON CONFLICT DO UPDATE SET last_seen = max(last_seen, excluded.last_seen),
    generation = max(generation, excluded.generation), note = excluded.note
    """
  case eldestDevices = """
    SELECT device, first_seen, last_seen, generation, x'' FROM device WHERE last_seen < ?
    ORDER BY last_seen LIMIT ?
    """
  case dropDevice = "DELETE FROM device WHERE device = ?"
  case raise = """
    INSERT INTO counter (name, value) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET value = max(value, excluded.value)
    """
  case line = "SELECT generation FROM gate_line WHERE device = ? AND gate = ?"
  case linesOfDevice = "SELECT max(generation) FROM gate_line WHERE device = ?"
  case raiseLine = """
    INSERT INTO gate_line (device, gate, generation) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET generation = max(generation, excluded.generation)
    """
  case dropLines = "DELETE FROM gate_line WHERE device = ?"
  case countDevices = "SELECT count(*) FROM device"
  case countSalts = "SELECT count(*) FROM salt"

  case beginReading = "BEGIN"
  case begin = "BEGIN IMMEDIATE"
  case commit = "COMMIT"
  case rollBack = "ROLLBACK"
  case mark = "SAVEPOINT job"
  case rollBackToMark = "ROLLBACK TO job"
  case forgetMark = "RELEASE job"

  /// "PfSt": distinguishes the service's files from other SQLite files.
  static let applicationID: Int64 = 0x5066_5374
  /// The schema's version. A file of a newer version is not changed.
  static let schemaVersion: Int64 = 1

  /// Made also in stores of earlier programs, which need not know of it: a line that such a program leaves behind
  /// when it drops a device goes on where it was.
  static let additions = """
    CREATE INDEX IF NOT EXISTS device_last_seen ON device (last_seen);
    CREATE TABLE IF NOT EXISTS gate_line (device BLOB NOT NULL, gate BLOB NOT NULL,
      generation INTEGER NOT NULL, PRIMARY KEY (device, gate)) STRICT, WITHOUT ROWID;
    """
  static let countAdditions = """
    SELECT count(*) FROM sqlite_master WHERE name IN ('device_last_seen', 'gate_line')
    """

  /// Keys and names are UTF-8 bytes, so that they compare as bytes.
  static let schema = """
    CREATE TABLE row (tbl INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
      PRIMARY KEY (tbl, key)) STRICT, WITHOUT ROWID;
    CREATE TABLE counter (name BLOB PRIMARY KEY NOT NULL, value INTEGER NOT NULL)
      STRICT, WITHOUT ROWID;
    CREATE TABLE salt (salt BLOB PRIMARY KEY NOT NULL, expiry INTEGER NOT NULL, note BLOB NOT NULL)
      STRICT, WITHOUT ROWID;
    CREATE TABLE device (device BLOB PRIMARY KEY NOT NULL, first_seen INTEGER NOT NULL,
      last_seen INTEGER NOT NULL, generation INTEGER NOT NULL, note BLOB NOT NULL)
      STRICT, WITHOUT ROWID;
    """
}
