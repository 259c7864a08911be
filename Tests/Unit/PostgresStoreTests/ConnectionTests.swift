// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import PostgresServers
import PostgresStore
import Testing

@Suite("Connections to a PostgreSQL server", .enabled(if: Server.isThere))
struct ConnectionTests {
  @Test("Values keep every bit, in both directions")
  func values() throws {
    let connection = try Server.main.database(migrated: false).service()
    let bytes = [UInt8](0...255)
    let row = try connection.run(
      PostgresStatement(
        "values",
        """
        SELECT $1::bytea, $2::int2, $3::int4, $4::int8, $5::bool, $6::text, $7::bytea, ($8::bytea[])[2],
          ($8::bytea[])[3] IS NULL, ($9::int8[])[1], cardinality($10::int4[]), ($11::bool[])[2], $12::bytea
        """),
      .bytea(bytes), .int2(.min), .int4(.min), .int8(.min), .bool(true), .text("ż"), .null,
      .byteas([[1], [], nil]), .int8s([.max]), .int4s([]), .bools([false, true]), .bytea([]))
    #expect(try row.bytes(0, 0) == bytes)
    #expect(try row.integer(0, 1) == Int64(Int16.min))
    #expect(try row.integer(0, 2) == Int64(Int32.min))
    #expect(try row.integer(0, 3) == .min)
    #expect(try row.bool(0, 4))
    #expect(try row.text(0, 5) == "ż")
    #expect(try row.optionalBytes(0, 6) == nil)
    #expect(try row.bytes(0, 7) == [])
    #expect(try row.bool(0, 8))
    #expect(try row.integer(0, 9) == .max)
    #expect(try row.integer(0, 10) == 0)
    #expect(try row.bool(0, 11))
    #expect(try row.bytes(0, 12) == [])
    // A reading that does not fit the column is an error.
    #expect(failure { () throws(PostgresError) in try row.integer(0, 0) }?.reason == .mismatch)
    #expect(failure { () throws(PostgresError) in try row.bytes(0, 6) }?.reason == .mismatch)
    #expect(failure { () throws(PostgresError) in try row.bytes(1, 0) }?.reason == .mismatch)
    #expect(failure { () throws(PostgresError) in try row.text(0, 0) }?.reason == .mismatch)
  }

  @Test("A session waits for the standby, and its search path is ours, whatever the role says")
  func settings() throws {
    let database = try Server.main.database(migrated: false)
    let superuser = try Server.main.superuser()
    for setting in ["synchronous_commit = off", "search_path = public"] {
      try superuser.execute(
        "ALTER ROLE proof_service IN DATABASE \(database.name) SET \(setting)")
    }
    let connection = try database.service()
    let row = try connection.run(
      PostgresStatement(
        "shown", "SELECT current_setting('synchronous_commit'), current_setting('search_path')"))
    #expect(try row.text(0, 0) == "on" && row.text(0, 1) == "pg_catalog")
  }

  @Test("A connection over TCP has TLS and the server's certificate verified")
  func tls() throws {
    let database = try Server.main.database(migrated: false)
    let connection = try database.service()
    #expect(connection.isEncrypted)

    func reason(_ changes: [String: String]) -> PostgresError.Reason? {
      failure { () throws(PostgresError) in
        let settings = Server.main.settings(database.name).merging(changes) { $1 }
        return try PostgresConnection(PostgresOptions(settings: settings))
      }?.reason
    }
    #expect(reason([:]) == nil)
    // 1. Another authority.
    #expect(reason(["sslrootcert": Server.file("other.pem")]) == .untrusted)
    // 2. Another name than the certificate's.
    #expect(reason(["host": "127.0.0.1"]) == .untrusted)
    // 3. A server that asks for the password itself: SCRAM is needed.
    #expect(reason(["user": "proof_plain", "password": "plain-secret"]) == .untrusted)
    #expect(!Server.main.log.contains("user=proof_plain"))
    // 4. Another password, another user.
    #expect(reason(["password": "wrong"]) == .denied)
    #expect(reason(["user": "stranger"]) == .denied)
    // 5. Settings that ask for less are refused before a connection is made.
    for (keyword, value) in [
      ("sslmode", "disable"), ("sslmode", "require"), ("channel_binding", "prefer"),
      ("target_session_attrs", "any"), ("sslrootcert", ""), ("host", ""), ("options", "-c x=y"),
      ("connect_timeout", "0"), ("service", "other"), ("host", "localhost,/tmp"),
    ] {
      #expect(reason([keyword: value]) == .mismatch, "\(keyword)=\(value)")
    }
  }

  @Test("No error and no description contains the password")
  func passwordIsSecret() throws {
    let secret = "sw0rdfish"
    var said: [String] = []
    for text in [
      "postgres://u:\(secret)@h/d", "postgres://u:\(secret)@h/d?bad=\(secret)",
      "postgres://u:\(secret)@[h/d", "host=h password=\(secret) dbname", "password='\(secret)",
      "postgres://u:\(secret)%zz@h/d", "postgres://u:\(secret)@h:1/d?sslmode=disable", secret,
      "host=127.0.0.1 port=1 user=u dbname=d password=\(secret) sslrootcert=/dev/null",
      "host=localhost port=\(Server.main.port) user=\(secret) dbname=d password=\(secret) "
        + "sslrootcert=\(Server.file("authority.pem"))",
    ] {
      do throws(PostgresError) {
        let options = try PostgresOptions(text)
        said.append("\(options) \(String(reflecting: options))")
        dump(options, to: &said[said.count - 1])
        _ = try PostgresConnection(options)
        Issue.record("connected")
      } catch {
        said.append("\(error) \(String(reflecting: error))")
      }
    }
    #expect(said.count > 10)
    for text in said where text.contains(secret) {
      // The last settings have the password as the user's name too, which the server repeats.
      #expect(text.hasPrefix("postgres://\(secret)@"), "\(text)")
    }
  }

  @Test("A connection takes the first host that can write, and its attempt ends")
  func hosts() throws {
    let database = try Server.main.database(migrated: false)
    // 1. A port without a listener.
    let closed = try Listening()
    let port = closed.port
    closed.close()
    var settings = Server.main.settings(database.name)
    settings["host"] = "localhost,localhost"
    settings["port"] = "\(port),\(Server.main.port)"
    #expect(try PostgresConnection(PostgresOptions(settings: settings)).isOpen)
    // 2. A listener that never answers.
    let silent = try Listening()
    settings["connect_timeout"] = "5"
    settings["port"] = "\(silent.port),\(Server.main.port)"
    #expect(try PostgresConnection(PostgresOptions(settings: settings)).isOpen)
    settings["host"] = "localhost"
    settings["port"] = "\(silent.port)"
    #expect(
      failure { () throws(PostgresError) in
        try PostgresConnection(PostgresOptions(settings: settings))
      }?.reason == .unreachable)
    // 3. A server on which the role only reads.
    let other = try Server.alone.superuser()
    try other.execute("CREATE DATABASE \(database.name)_reads", timeout: 20_000)
    try other.execute(
      "ALTER ROLE proof_service IN DATABASE \(database.name)_reads SET default_transaction_read_only = on"
    )
    try Server.main.superuser().execute("CREATE DATABASE \(database.name)_reads", timeout: 20_000)
    settings["dbname"] = "\(database.name)_reads"
    settings["port"] = "\(Server.alone.port)"
    let refused = failure { () throws(PostgresError) in
      try PostgresConnection(PostgresOptions(settings: settings))
    }
    #expect(refused?.reason == .unreachable && refused?.words.contains("read-only") == true)
    settings["host"] = "localhost,localhost"
    settings["port"] = "\(Server.alone.port),\(Server.main.port)"
    let connection = try PostgresConnection(PostgresOptions(settings: settings))
    #expect(try connection.number("SELECT current_setting('port')::int") == Server.main.port)
  }

  @Test("Pipelined calls are independent, and more than the socket holds")
  func pipeline() throws {
    let connection = try Server.main.database(migrated: false).service()
    let good = PostgresStatement("echo", "SELECT $1::bytea")
    let bad = PostgresStatement("divide", "SELECT 1 / $1::int4")
    let wrong = PostgresStatement("wrong", "SELECT nothing")
    let large = [UInt8](repeating: 7, count: 200_000)
    let calls = (0..<60).flatMap { n in
      [
        PostgresCall(good, [.bytea(large + [UInt8(n)])]), PostgresCall(bad, [.int4(0)]),
        PostgresCall(wrong), PostgresCall(bad, [.int4(1)]),
      ]
    }
    let answers = connection.run(calls)
    #expect(answers.count == calls.count)
    for (place, answer) in answers.enumerated() {
      switch place % 4 {
      case 0: #expect(try answer.get().bytes(0, 0).last == UInt8(place / 4))
      case 1: #expect(throws: PostgresError.self) { try answer.get() }
      case 2:
        guard case .failure(let error) = answer else {
          Issue.record("a statement without a column")
          continue
        }
        #expect(error.state == "42703" && error.mender == .developer && error.commit == .none)
      default: #expect(try answer.get().integer(0, 0) == 1)
      }
    }
    #expect(connection.isOpen)
    // Each statement was prepared once, the wrong one never.
    let names = PostgresStatement(
      "names", "SELECT string_agg(name, ' ' ORDER BY name) FROM pg_prepared_statements")
    #expect(try connection.run(names).text(0, 0) == "divide echo names")
    // Scripts and calls take turns on one connection.
    try connection.execute("SELECT 1; SELECT 2")
    #expect(try connection.number("SELECT 3") == 3)
  }

  @Test("An error keeps its SQLSTATE, its mender, and whether the commit is unknown")
  func errors() throws {
    let database = try Server.main.database(migrated: false)
    let killer = try Server.main.superuser()
    try database.migrator().execute(
      "CREATE TABLE public.one (n int PRIMARY KEY); GRANT ALL ON public.one TO proof_service")

    func failed(_ text: String, timeout: Int64 = 20_000) throws -> PostgresError {
      let connection = try database.service(timeout: timeout)
      return try #require(
        failure { () throws(PostgresError) in try connection.run(PostgresStatement("f", text)) })
    }
    let cases: [(String, PostgresError.Reason, String, PostgresError.Mender)] = [
      ("INSERT INTO public.one VALUES (1), (1)", .refused, "23505", .developer),
      ("SELECT * FROM nowhere", .mismatch, "42P01", .developer),
      ("CREATE DATABASE x", .denied, "42501", .operatorOfDatabase),
    ]
    for (text, reason, state, mender) in cases {
      let error = try failed(text)
      #expect(error.reason == reason && error.state == state && error.mender == mender, "\(error)")
      #expect(error.commit == .none)
      #expect(!error.description.contains("(1)"), "DETAIL quotes a row")
    }

    // 1. The deadline: the socket is closed, and the commit is unknown.
    let slow = try database.service(timeout: 200)
    let late = failure { () throws(PostgresError) in
      try slow.run(PostgresStatement("sleep", "SELECT pg_sleep(600)"))
    }
    #expect(late?.reason == .timedOut && late?.commit == .unknown && late?.mender == .program)
    #expect(!slow.isOpen)
    let closed = failure { () throws(PostgresError) in
      try slow.run(PostgresStatement("x", "SELECT 1"))
    }
    #expect(closed?.reason == .brokenOff && closed?.commit == PostgresError.Commit.none)
    // The server notices only at its next write, so end it here.
    try killer.execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()"
    )

    // 2. A backend that is terminated within a call.
    let victim = try database.service()
    let pid = victim.backend
    let thread = Thread {
      guard let watcher = try? Server.main.superuser() else { return }
      let text =
        "SELECT count(*) FROM pg_stat_activity WHERE pid = \(pid) AND wait_event = 'PgSleep'"
      waitUntil { (try? watcher.number(text)) != 0 }
      try? watcher.execute("SELECT pg_terminate_backend(\(pid))")
    }
    thread.start()
    let ended = failure { () throws(PostgresError) in
      try victim.run(PostgresStatement("sleep", "SELECT pg_sleep(60)"))
    }
    #expect(ended?.reason == .notPrimary && ended?.state == "57P01" && ended?.commit == .unknown)
    #expect(!victim.isOpen)

    // 3. A server that is read-only.
    let reader = try database.service()
    try reader.execute("SET default_transaction_read_only = on")
    let readOnly = failure { () throws(PostgresError) in
      try reader.run(PostgresStatement("i", "INSERT INTO public.one VALUES (2)"))
    }
    #expect(
      readOnly?.reason == .notPrimary && readOnly?.state == "25006" && readOnly?.mayRepeat == true)
  }

  @Test("A session tells at once what does not pass, and tries the rest on a new connection")
  func sessions() throws {
    let database = try Server.main.database()
    let session = PostgresSession(try database.options(), patience: 60_000)
    #expect(session.backend == nil)
    for reason in [.untrusted, .denied, .full, .mismatch, .refused] as [PostgresError.Reason] {
      var calls = 0
      let error = failure { () throws(PostgresError) in
        try session.repeating { _ throws(PostgresError) in
          calls += 1
          throw PostgresError(reason, state: "1", "no")
        }
      }
      #expect(calls == 1 && error == PostgresError(reason, state: "1", "no"))
    }
    var backends: [Int32] = []
    let answer = try session.repeating { (connection) throws(PostgresError) in
      backends.append(connection.backend)
      if backends.count < 3 { throw PostgresError(.notPrimary, "elsewhere") }
      return backends.count
    }
    #expect(answer == 3 && Set(backends).count == 3 && session.backend == backends.last)
    // An attempt before may have been committed although the last one was not.
    for commit in [PostgresError.Commit.unknown, .none] {
      var calls = 0
      let error = failure { () throws(PostgresError) in
        try session.repeating { _ throws(PostgresError) in
          calls += 1
          if calls == 1 { throw PostgresError(.timedOut, commit: commit, "late") }
          throw PostgresError(.refused, "no")
        }
      }
      #expect(calls == 2 && error == PostgresError(.refused, commit: commit, "no"))
    }
    let impatient = PostgresSession(try database.options(), patience: 0)
    var calls = 0
    let error = failure { () throws(PostgresError) in
      try impatient.repeating { _ throws(PostgresError) in
        calls += 1
        throw PostgresError(.notPrimary, "elsewhere")
      }
    }
    #expect(calls == 1 && error?.reason == .notPrimary)
    let newer = PostgresSession(try database.options(), patience: 0, needing: 12)
    let old = failure { () throws(PostgresError) in
      try newer.repeating { _ throws(PostgresError) in }
    }
    #expect(old?.words == "the schema has version 11, this program needs 12; migrate it")
  }

  @Test("The words of an error are one line of at most 255 bytes")
  func words() throws {
    let connection = try Server.main.database(migrated: false).service()
    for (text, said) in [
      ("E'a\\nb\\tc\\x7fd\\x1f \\n'", "a b c d"), ("' a b'", " a b"),
      ("repeat('x', 254) || 'yz'", String(repeating: "x", count: 254) + "y"),
      ("repeat('x', 255)", String(repeating: "x", count: 255)), ("'!~'", "!~"),
    ] {
      let error = failure { () throws(PostgresError) in
        try connection.execute(
          "DO $do$ BEGIN RAISE EXCEPTION USING MESSAGE = \(text), ERRCODE = '22023'; END $do$")
      }
      #expect(error?.words == said && error?.state == "22023" && error?.reason == .refused)
    }
  }

  @Test("A call has at most 32 values, and one more is refused before anything is sent")
  func mostValues() throws {
    let connection = try Server.main.database(migrated: false).service()
    func call(_ count: Int) -> PostgresCall {
      let sum = (1...count).map { "$\($0)::int4" }.joined(separator: " + ")
      return PostgresCall(
        PostgresStatement("sum_\(count)", "SELECT \(sum)"),
        (1...count).map { .int4(Int32($0)) })
    }
    #expect(try connection.run(call(32)).integer(0, 0) == 528)
    let error = failure { () throws(PostgresError) in try connection.run(call(33)) }
    #expect(error?.reason == .mismatch && error?.words == "more than 32 parameters")
    #expect(error?.commit == PostgresError.Commit.none)
    #expect(connection.isOpen && connection.backend > 0)
    #expect(try connection.run(call(2)).integer(0, 0) == 3)
  }

  @Test("A connection that missed a deadline has no backend, and each call on it fails")
  func closed() throws {
    let connection = try Server.main.database(migrated: false).service(timeout: 100)
    #expect(connection.backend > 0 && connection.isEncrypted && connection.isOpen)
    let late = failure { () throws(PostgresError) in try connection.execute("SELECT pg_sleep(2)") }
    #expect(late?.reason == .timedOut && late?.commit == .unknown)
    #expect(late?.words == "no answer before the deadline; the connection was closed")
    #expect(connection.backend == 0 && !connection.isEncrypted && !connection.isOpen)
    for error in [
      failure { () throws(PostgresError) in try connection.execute("SELECT 1") },
      failure { () throws(PostgresError) in try connection.notification(within: 0) },
      failure { () throws(PostgresError) in
        try connection.run(PostgresStatement("one", "SELECT 1"))
      },
    ] { #expect(error?.reason == .brokenOff && error?.words == "the connection is closed") }
  }

  @Test("Notifications arrive, their absence has an end, and a lost session is an error")
  func notifications() throws {
    let database = try Server.main.database()
    try database.openAccount()
    let listener = try database.service()
    try listener.execute("LISTEN pf_revision")
    #expect(try listener.notification(within: 0) == nil)
    let writer = try database.service()
    let applied = try writer.run(.apply([1], [2], from: nil, to: [3]))
    #expect(try applied.text(0, 0) == "applied")
    let notification = try listener.notification(within: 20_000)
    #expect(notification?.channel == "pf_revision" && notification?.payload == "1 1")
    #expect(try listener.notification(within: 0) == nil)
    try Server.main.superuser().execute("SELECT pg_terminate_backend(\(listener.backend))")
    #expect(
      failure { () throws(PostgresError) in try listener.notification(within: 20_000) }?.reason
        == .brokenOff)
  }
}
