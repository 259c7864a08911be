// SPDX-License-Identifier: Apache-2.0

private import CPostgres

/// A statement with parameters `$1::type`, prepared once on each connection.
package struct PostgresStatement: Sendable, Hashable {
  let name: String
  let text: String

  /// - Parameters:
  ///   - name: Unique among the statements of a connection.
  ///   - text: One SQL statement. It casts each parameter to its type.
  package init(_ name: String, _ text: String) {
    self.name = name
    self.text = text
  }
}

/// One call of a statement.
package struct PostgresCall: Sendable {
  let statement: PostgresStatement
  let values: [PostgresValue]
  /// Whether the answer counts only under a lease of its connection; see ``ReadingLease``.
  let needsLease: Bool

  package init(
    _ statement: PostgresStatement, _ values: [PostgresValue] = [], needsLease: Bool = false
  ) {
    self.statement = statement
    self.values = values
    self.needsLease = needsLease
  }
}

/// A notification of LISTEN.
package struct PostgresNotification: Sendable, Equatable {
  package let channel: String
  package let payload: String
}

/// A session with the database's primary.
///
/// A call that misses its deadline closes the session, and no cancel request is ever sent: a cancel
/// that meets a commit in its wait for the standby makes an unsafe commit look safe.
///
/// `@unchecked Sendable` because its owner lets one thread at a time use it.
@safe package final class PostgresConnection: @unchecked Sendable {
  private let connection: OpaquePointer
  private let options: PostgresOptions
  private var prepared: Set<String> = []
  /// The lease of the readings over this session, and over no other.
  var lease = ReadingLease()

  /// Connects to the first host that accepts a session that can write.
  package init(_ options: PostgresOptions) throws(PostgresError) {
    self.options = options
    let settings = options.settings.sorted { $0.key < $1.key }
    var made: OpaquePointer?
    var fault = phq_fault()
    let result = unsafe CStrings.with(settings.map(\.key)) { keywords in
      unsafe CStrings.with(settings.map(\.value)) { values in
        unsafe phq_connect(&made, &fault, keywords, values)
      }
    }
    guard result == PHQ_OK, let made = unsafe made else {
      throw Self.error(result, fault, options, sent: false)
    }
    unsafe connection = made
    // In place of what role, database or server set. A pooler passes it on as it passes all statements on.
    try execute("SET search_path = pg_catalog; SET synchronous_commit = on")
  }

  deinit { unsafe phq_close(connection) }

  /// False once a deadline was missed or the connection broke.
  package var isOpen: Bool { unsafe phq_is_open(connection) == 1 }
  /// The process id of the server's backend.
  package var backend: Int32 { unsafe phq_backend(connection) }
  package var isEncrypted: Bool { unsafe phq_is_encrypted(connection) == 1 }

  /// Calls a statement in a transaction of its own.
  package func run(_ call: PostgresCall) throws(PostgresError) -> PostgresRows {
    try run([call])[0].get()
  }

  package func run(
    _ statement: PostgresStatement, _ values: PostgresValue...
  ) throws(PostgresError) -> PostgresRows {
    try run(PostgresCall(statement, values))
  }

  /// Sends independent calls in one trip, each a transaction of its own, and takes their answers.
  ///
  /// A call that the server refuses does not undo its neighbours.
  package func run(_ calls: [PostgresCall]) -> [Result<PostgresRows, PostgresError>] {
    let deadline = phq_now() + options.callTimeout
    // A statement that two calls of one trip share is prepared by the first.
    var new: Set<String> = []
    var answers: [Result<PostgresRows, PostgresError>] = []
    var queued = 0
    var failure: PostgresError?
    for call in calls {
      let text = prepared.contains(call.statement.name) ? nil : call.statement.text
      if new.contains(call.statement.name) || failure != nil { break }
      if text != nil { new.insert(call.statement.name) }
      var fault = phq_fault()
      let result = queue(call, text, &fault)
      if result == PHQ_OK { queued += 1 } else { failure = error(result, fault, sent: queued > 0) }
    }
    for call in calls.prefix(queued) { answers.append(take(call, deadline)) }
    let rest = calls.dropFirst(answers.count)
    if let failure { return answers + rest.map { _ in .failure(failure) } }
    // The first trip prepared what the rest needs.
    return rest.isEmpty ? answers : answers + run(Array(rest))
  }

  /// Runs a script of statements without parameters, such as a migration.
  package func execute(_ script: String, timeout: Int64? = nil) throws(PostgresError) {
    var fault = phq_fault()
    let result = unsafe phq_execute(
      connection, &fault, script, phq_now() + (timeout ?? options.callTimeout))
    if result != PHQ_OK { throw error(result, fault, sent: true) }
  }

  /// Waits for a notification; nil if none came in time. `execute("LISTEN …")` first, then read the
  /// state that the notifications are about: earlier ones are lost.
  package func notification(
    within milliseconds: Int64
  ) throws(PostgresError) -> PostgresNotification? {
    var notice = unsafe phq_notice()
    var fault = phq_fault()
    let result = unsafe phq_notified(&notice, connection, &fault, phq_now() + milliseconds)
    if result == PHQ_E_TIMED_OUT { return nil }
    guard result == PHQ_OK else { throw error(result, fault, sent: false) }
    return unsafe PostgresNotification(
      channel: String(cString: notice.channel), payload: String(cString: notice.payload))
  }

  /// The settings of a connection string, or nil if it is malformed.
  static func settings(of text: String) -> [String: String]? {
    final class Taken { var settings: [String: String] = [:] }
    let taken = Taken()
    let user = unsafe Unmanaged.passUnretained(taken).toOpaque()
    let result = unsafe phq_settings(text, user) { user, keyword, value in
      let taken = unsafe Unmanaged<Taken>.fromOpaque(user!).takeUnretainedValue()
      unsafe taken.settings[String(cString: keyword!)] = unsafe String(cString: value!)
    }
    return result == PHQ_OK ? taken.settings : nil
  }

  private func queue(
    _ call: PostgresCall, _ text: String?, _ fault: inout phq_fault
  ) -> phq_result {
    // One buffer for all values, so that their addresses live as long as the call.
    var buffer: [UInt8] = [0]
    let sizes = call.values.map { Int32($0.bytes?.count ?? 0) }
    let starts = call.values.map { value -> Int? in
      guard let bytes = value.bytes else { return nil }
      defer { buffer += bytes }
      return buffer.count
    }
    return unsafe buffer.withUnsafeBufferPointer { buffer in
      let addresses = unsafe starts.map { start in
        unsafe start.map { unsafe buffer.baseAddress! + $0 }
      }
      guard let text else {
        return unsafe phq_queue(
          connection, &fault, call.statement.name, nil, Int32(sizes.count), addresses, sizes)
      }
      return unsafe phq_queue(
        connection, &fault, call.statement.name, text, Int32(sizes.count), addresses, sizes)
    }
  }

  private func take(
    _ call: PostgresCall, _ deadline: Int64
  ) -> Result<PostgresRows, PostgresError> {
    var answer = unsafe phq_rows()
    var fault = phq_fault()
    let result = unsafe phq_take(&answer, connection, &fault, deadline)
    defer { unsafe phq_rows_free(&answer) }
    if unsafe answer.prepared == 1 { prepared.insert(call.statement.name) }
    guard result == PHQ_OK else { return .failure(error(result, fault, sent: true)) }
    if unsafe answer.doubtful == 1 {
      return .failure(
        PostgresError(
          .brokenOff, state: "01000", commit: .unknown,
          "the commit's wait for the standby was ended by the server"))
    }
    let rows = unsafe (0..<answer.rows).map { row in
      unsafe (0..<answer.columns).map { column -> [UInt8]? in
        var size = 0
        guard let bytes = unsafe phq_value(&answer, row, column, &size) else { return nil }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: size))
      }
    }
    return .success(PostgresRows(rows: rows))
  }

  private func error(_ result: phq_result, _ fault: phq_fault, sent: Bool) -> PostgresError {
    Self.error(result, fault, options, sent: sent)
  }

  private static func error(
    _ result: phq_result, _ fault: phq_fault, _ options: PostgresOptions, sent: Bool
  ) -> PostgresError {
    let (state, all) = unsafe withUnsafePointer(to: fault) { fault in
      let state = unsafe UnsafeRawPointer(fault.pointer(to: \.state)!)
      let words = unsafe UnsafeRawPointer(fault.pointer(to: \.words)!)
      return unsafe (
        String(cString: state.assumingMemoryBound(to: CChar.self)),
        String(cString: words.assumingMemoryBound(to: CChar.self))
      )
    }
    let words = options.redacted(all)
    let commit: PostgresError.Commit = sent ? .unknown : .none
    switch result {
    case PHQ_E_UNREACHABLE: return PostgresError(.unreachable, words)
    case PHQ_E_UNTRUSTED: return PostgresError(.untrusted, words)
    case PHQ_E_DENIED: return PostgresError(.denied, words)
    case PHQ_E_TIMED_OUT: return PostgresError(.timedOut, commit: commit, words)
    case PHQ_E_BROKEN_OFF: return PostgresError(.brokenOff, commit: commit, words)
    case PHQ_E_REFUSED:
      // An error rolls the call back. A session that the server ended may have committed before.
      return PostgresError(
        PostgresError.reason(ofState: state), state: state,
        commit: fault.ends_session == 1 ? commit : .none, words)
    default: return PostgresError(.mismatch, words)
    }
  }
}
