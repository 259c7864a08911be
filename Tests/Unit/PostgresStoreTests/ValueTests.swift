// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import PostgresStore

/// The store in PostgreSQL where no server is needed: values on the wire, errors, settings and
/// leases.
@Suite("Values, errors and settings of PostgreSQL")
struct ValueTests {
  // MARK: Values

  @Test("A value is big-endian on the wire, and an absent one is NULL")
  func values() {
    for (value, bytes) in [
      (.null, nil), (.bytea(nil), nil), (.bytea([]), []), (.bytea([1, 2]), [1, 2]),
      (.text("é"), [0xC3, 0xA9]), (.bool(true), [1]), (.bool(false), [0]),
      (.int2(0x0102), [1, 2]), (.int2(-2), [0xFF, 0xFE]), (.int4(0x0102_0304), [1, 2, 3, 4]),
      (.int8(0x0102_0304_0506_0708), [1, 2, 3, 4, 5, 6, 7, 8]),
      (.int8(-1), [UInt8](repeating: 0xFF, count: 8)),
    ] as [(PostgresValue, [UInt8]?)] { #expect(value.bytes == bytes) }
  }

  @Test("An array tells its dimension, its type and each element's size")
  func arrays() {
    func number(_ value: Int32) -> [UInt8] { PostgresValue.int4(value).bytes ?? [] }
    func head(_ type: Int32, _ count: Int32, hasNull: Int32 = 0) -> [UInt8] {
      number(1) + number(hasNull) + number(type) + number(count) + number(1)
    }
    #expect(PostgresValue.byteas([]).bytes == number(0) + number(0) + number(17))
    #expect(
      PostgresValue.byteas([[7], nil, []]).bytes
        == head(17, 3, hasNull: 1) + number(1) + [7] + number(-1) + number(0))
    #expect(
      PostgresValue.bools([true, false]).bytes
        == head(16, 2) + number(1) + [1] + number(1) + [0])
    #expect(PostgresValue.int2s([5]).bytes == head(21, 1) + number(2) + [0, 5])
    #expect(PostgresValue.int4s([5]).bytes == head(23, 1) + number(4) + [0, 0, 0, 5])
    #expect(
      PostgresValue.int8s([5, nil]).bytes
        == head(20, 2, hasNull: 1) + number(8) + [0, 0, 0, 0, 0, 0, 0, 5] + number(-1))
  }

  @Test("A column is read as its type, and anything else is told with its place")
  func rows() throws {
    let row: [[UInt8]?] = [
      nil, [], [0], [1], [0xFF, 0xFE], [0, 0, 1, 0], [0x80, 0, 0, 0, 0, 0, 0, 1], [0x61], [0xFF],
      [1, 2, 3],
    ]
    let rows = PostgresRows(rows: [[[9]], row])
    #expect(rows.count == 2)
    #expect(try rows.optionalBytes(1, 0) == nil && rows.optionalBytes(1, 1) == [])
    #expect(try rows.bytes(0, 0) == [9] && rows.bytes(1, 1) == [])
    #expect(try !rows.bool(1, 2) && rows.bool(1, 3) && rows.bool(1, 7))
    #expect(try rows.integer(1, 4) == -2 && rows.integer(1, 5) == 256)
    #expect(try rows.integer(1, 6) == Int64.min + 1)
    #expect(try rows.text(1, 7) == "a" && rows.text(1, 1) == "")
    func words(_ body: () throws(PostgresError) -> Void) -> String? {
      do throws(PostgresError) { try body() } catch {
        #expect(error.reason == .mismatch && error.state == nil)
        return error.words
      }
      return nil
    }
    for (place, column) in [(2, 0), (-1, 0), (1, 10), (1, -1), (0, 1)] {
      let said = words { () throws(PostgresError) in _ = try rows.optionalBytes(place, column) }
      #expect(said == "the answer has no row \(place) with a column \(column)")
    }
    #expect(
      words { () throws(PostgresError) in _ = try rows.bytes(1, 0) } == "column 0 of row 1 is NULL")
    #expect(
      words { () throws(PostgresError) in _ = try rows.text(1, 8) }
        == "column 8 of row 1 is no UTF-8")
    for column in [1, 4] {
      let said = words { () throws(PostgresError) in _ = try rows.bool(1, column) }
      #expect(said == "column \(column) of row 1 is no boolean")
    }
    for (column, count) in [(1, 0), (2, 1), (9, 3)] {
      let said = words { () throws(PostgresError) in _ = try rows.integer(1, column) }
      #expect(said == "column \(column) of row 1 has \(count) bytes, not an integer's")
    }
  }

  // MARK: Errors

  @Test("A SQLSTATE has a reason, and the reason says who mends it")
  func states() {
    for (state, reason) in [
      ("40001", .conflict), ("40P01", .conflict), ("55P03", .conflict), ("25006", .notPrimary),
      ("57P01", .notPrimary), ("57P02", .notPrimary), ("57P03", .notPrimary), ("42501", .denied),
      ("28P01", .denied), ("28000", .denied), ("0A000", .mismatch), ("26000", .mismatch),
      ("42P01", .mismatch), ("42883", .mismatch), ("42703", .mismatch), ("3F000", .mismatch),
      ("57014", .timedOut), ("25P03", .timedOut), ("08006", .brokenOff), ("53300", .full),
      ("53100", .full), ("22012", .refused), ("23505", .refused), ("", .refused),
    ] as [(String, PostgresError.Reason)] {
      #expect(PostgresError.reason(ofState: state) == reason, "\(state)")
    }
    let words: [(PostgresError.Reason, PostgresError.Mender, String)] = [
      (.unreachable, .program, "the database is unreachable"),
      (.untrusted, .operatorOfDatabase, "the database server is not trusted"),
      (.denied, .operatorOfDatabase, "the database refused access"),
      (.timedOut, .program, "the database did not answer in time"),
      (.brokenOff, .program, "the connection to the database ended"),
      (.notPrimary, .program, "the database server is not the primary"),
      (.conflict, .program, "another transaction won"),
      (.full, .operatorOfDatabase, "the database has no room"),
      (.busy, .program, "too many calls wait for the database"),
      (.mismatch, .operatorOfDatabase, "the database is not as this program needs it"),
      (.refused, .developer, "the database refused a statement"),
    ]
    for (reason, mender, text) in words {
      let error = PostgresError(reason, "why")
      #expect(error.mender == mender && error.mayRepeat == (mender == .program))
      #expect(error.description == "\(text): why" && error.commit == .none)
      let told = PostgresError(reason, state: "12345", commit: .unknown, "why")
      #expect(
        told.description
          == "\(text) (SQLSTATE 12345): why; the call may have been committed")
    }
    #expect(PostgresError(.mismatch, state: "42P01", "why").mender == .developer)
  }

  @Test("A conflict is tried four times in all, and any other failure once")
  func conflicts() throws {
    for (state, times) in [("40001", 4), ("40P01", 4), ("55P03", 1), (nil, 1)] as [(String?, Int)] {
      var calls = 0
      let error = #expect(throws: PostgresError.self) {
        try retryingConflicts { () throws(PostgresError) in
          calls += 1
          throw PostgresError(.conflict, state: state, "\(calls)")
        }
      }
      #expect(calls == times && error?.words == "\(times)")
    }
    for success in 1...4 {
      var calls = 0
      let answer = try retryingConflicts { () throws(PostgresError) -> Int in
        calls += 1
        if calls < success { throw PostgresError(.conflict, state: "40001", "") }
        return calls
      }
      #expect(answer == success)
    }
    #expect(conflictRetriesMax == 3)
  }

  // MARK: Settings

  private static let least = [
    "host": "db1", "dbname": "proof", "user": "proof_service", "sslrootcert": "db.pem",
  ]

  private func refusal(_ changes: [String: String?]) -> String? {
    var settings = Self.least
    for (name, value) in changes { settings[name] = value }
    let error = #expect(throws: PostgresError.self) { try PostgresOptions(settings: settings) }
    #expect(error?.reason == .mismatch)
    return error?.words
  }

  @Test("Settings are the page's, and each one with an effect on security is explicit")
  func settings() throws {
    let options = try PostgresOptions(settings: Self.least)
    #expect(options.callTimeout == 3_000 && !options.holdsPassword)
    #expect(
      options.settings == [
        "host": "db1", "dbname": "proof", "user": "proof_service", "sslrootcert": "db.pem",
        "sslmode": "verify-full", "channel_binding": "require",
        "target_session_attrs": "read-write", "connect_timeout": "2", "tcp_user_timeout": "3000",
        "keepalives": "1", "keepalives_idle": "5", "keepalives_interval": "2",
        "keepalives_count": "2", "ssl_min_protocol_version": "TLSv1.2", "gssencmode": "disable",
        "client_encoding": "UTF8", "application_name": "proofkit", "port": "5432", "options": "",
      ])
    for host in ["/run/a", "@abstract", "/run/a,/run/b"] {
      var local = Self.least
      local["host"] = host
      local["sslrootcert"] = nil
      let options = try PostgresOptions(settings: local)
      #expect(options.settings["sslmode"] == "disable")
      #expect(options.settings["channel_binding"] == "disable")
    }
    #expect(options.description == "postgres://proof_service@db1/proof")
    #expect(options.debugDescription == options.description)
  }

  @Test("Settings that ask for less, or are none, are refused by their keyword")
  func refusals() throws {
    for name in ["host", "dbname", "user"] {
      for value in [nil, ""] as [String?] {
        #expect(refusal([name: value]) == "the connection string has no \(name)")
      }
    }
    for value in [nil, ""] as [String?] {
      #expect(
        refusal(["sslrootcert": value])
          == "the connection string has no sslrootcert, a file of certificates")
    }
    #expect(refusal(["options": "x"]) == "the connection string sets options, which is not allowed")
    for (name, value, needed) in [
      ("sslmode", "prefer", "verify-full"), ("channel_binding", "prefer", "require"),
      ("target_session_attrs", "any", "read-write"),
    ] { #expect(refusal([name: value]) == "the connection string needs \(name)=\(needed)") }
    #expect(
      refusal(["host": "/run/a", "sslmode": "verify-full"])
        == "the connection string needs sslmode=disable")
    for host in ["db1,/run/a", "db1,", ",db1"] {
      #expect(
        refusal(["host": host])
          == "the hosts must be all TCP or all Unix sockets, none empty")
    }
    for name in ["connect_timeout", "tcp_user_timeout"] {
      for value in ["0", "60001", "x", ""] {
        #expect(refusal([name: value]) == "\(name) is not a number from 1 to 60000")
      }
      for value in ["1", "60000"] {
        var settings = Self.least
        settings[name] = value
        #expect(try PostgresOptions(settings: settings).settings[name] == value)
      }
    }
    for text in ["postgres://[", "a", "host=\u{0}"] {
      let error = #expect(throws: PostgresError.self) { try PostgresOptions(text) }
      #expect(
        error?.words
          == "the connection string is malformed; its form is postgres://USER@HOST:PORT/DB")
    }
  }

  @Test("Readers are other servers with the same settings, a standby first")
  func readers() throws {
    var settings = Self.least
    settings["hostaddr"] = "192.0.2.1"
    settings["password"] = "guess-me"
    let options = try PostgresOptions(settings: settings)
    let readers = try options.reading(at: "db2,db3:5433")
    #expect(readers.settings["host"] == "db2,db3" && readers.settings["port"] == "5432,5433")
    #expect(readers.settings["hostaddr"] == nil)
    #expect(readers.settings["target_session_attrs"] == "prefer-standby")
    #expect(readers.settings["sslmode"] == "verify-full" && readers.holdsPassword)
    for servers in ["db2:0", "db2:65536", "db2:x", "db2:", "db2:1:2"] {
      let error = #expect(throws: PostgresError.self) { try options.reading(at: servers) }
      #expect(error?.words == "the readers are no list of HOST or HOST:PORT")
    }
    let local = #expect(throws: PostgresError.self) { try options.reading(at: "/run/a") }
    #expect(local?.words == "the readers must be all TCP or all Unix sockets, as the hosts")
    #expect(throws: PostgresError.self) { try options.reading(at: "db2,") }
    #expect(try options.reading(at: "db2:1,db3:65535").settings["port"] == "1,65535")
    // No text that is shown holds the password.
    #expect(options.redacted("a guess-me b guess-me") == "a *** b ***")
    #expect(try PostgresOptions(settings: Self.least).redacted("a") == "a")
    #expect(!"\(options) \(String(reflecting: options))".contains("guess-me"))
    var text = ""
    dump(options, to: &text)
    #expect(!text.contains("guess-me"))
  }

  @Test("A place is a URI with parameters of ours, which libpq does not get")
  func places() throws {
    let base = "postgres://proof_gate@db1/proof?sslrootcert=a"
    for (text, place, other) in [
      (base, nil, nil), (base + "&place=front", "front", nil), (base + "&place=", "", nil),
      (base.replacing("?", with: "?place=a=b&other=c&"), "a=b", "c"),
    ] as [(String, String?, String?)] {
      let read = try PostgresPlace(text, naming: "place", "other")
      #expect(read["place"] == place && read["other"] == other && read["none"] == nil)
      #expect(read.options.settings["sslrootcert"] == "a")
    }
    let socket = try PostgresPlace("postgres://proof_gate@%2Frun/proof?place=x", naming: "place")
    #expect(socket["place"] == "x" && socket.options.settings["host"] == "/run")
    #expect(throws: PostgresError.self) { try PostgresPlace(base + "&place=x") }
    #expect(throws: PostgresError.self) { try PostgresPlace(base + "&place", naming: "place") }
    let error = #expect(throws: PostgresError.self) {
      try PostgresPlace(base.replacing("proof_gate@", with: "proof_gate:guess-me@"))
    }
    #expect(error?.words.contains("holds a password") == true)
    #expect(error?.words.contains("guess-me") == false)
    for (text, isURI) in [
      ("postgres://a", true), ("postgresql://a", true), ("postgres:/a", false), ("a", false),
      ("/postgres://a", false),
    ] { #expect(PostgresPlace.isURI(text) == isURI) }
  }

  // MARK: Times

  @Test("Readings count for 700 ms after a write, which is due again after 350 ms")
  func lease() {
    let start = ContinuousClock.now
    var lease = ReadingLease()
    #expect(!lease.holds(at: start) && lease.isDue(at: start))
    lease.renew(sentAt: start)
    for (milliseconds, holds, isDue) in [
      (0, true, false), (350, true, false), (351, true, true), (699, true, true),
      (700, false, true), (10_000, false, true),
    ] {
      let now = start + .milliseconds(milliseconds)
      #expect(lease.holds(at: now) == holds && lease.isDue(at: now) == isDue, "\(milliseconds)")
    }
    lease.renew(sentAt: start + .milliseconds(500))
    #expect(lease.holds(at: start + .milliseconds(1_199)))
    #expect(!lease.holds(at: start + .milliseconds(1_200)))
  }

  @Test("A challenge stands in the slot of its minute, one of 64")
  func slots() {
    for (expiry, slot) in [(0, 0), (59, 0), (60, 1), (63 * 60 + 59, 63), (64 * 60, 0)]
      as [(Int32, Int16)]
    {
      let use = ChallengeUse(
        account: 1, expiry: expiry, salt: [], device: [], note: nil, digest: [], answer: [])
      #expect(use.slot == slot)
      #expect(use.time == nil && use.version == 0 && use.generation == 0 && !use.mustRaise)
      #expect(use.gate == nil && use.strings == nil && use.revision == 0)
    }
  }

  // MARK: Schema

  @Test("Steps ascend without gaps, and each one has a way forward and back")
  func migrations() {
    let all = Migration.all
    #expect(all.map(\.version) == Array(1...11))
    #expect(all.map(\.oldestProgram) == [0, 0, 0, 4, 4, 6, 6, 6, 6, 6, 6])
    #expect(Set(all.map(\.forward)).count == 11 && Set(all.map(\.back)).count == 11)
    #expect(all.allSatisfy { !$0.forward.isEmpty && !$0.back.isEmpty && $0.forward != $0.back })
    #expect(SchemaVersion.program == all.last?.version)
    let needed = [
      SchemaVersion.needed, SchemaVersion.neededByGates, SchemaVersion.neededByLedgers,
      SchemaVersion.neededByReaders,
    ]
    #expect(needed == [10, 8, 9, 11])
  }
}
