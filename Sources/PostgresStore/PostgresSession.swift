// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A connection that is made again when it breaks, and calls that are repeated meanwhile.
///
/// `@unchecked Sendable` because its owner lets one thread at a time use it.
package final class PostgresSession: @unchecked Sendable {
  private let options: PostgresOptions
  private let patience: Int64
  private let version: Int
  private var connection: PostgresConnection?

  /// - Parameters:
  ///   - options: The settings of the connection. It is made with the first call.
  ///   - patience: Milliseconds after the first failure in which a call is tried again.
  ///   - version: The oldest schema that the calls work with.
  package init(
    _ options: PostgresOptions, patience: Int64, needing version: Int = SchemaVersion.needed
  ) {
    self.options = options
    self.patience = patience
    self.version = version
  }

  /// The server's process for this session, if it is connected: for tests.
  package var backend: Int32? { connection?.backend }

  /// Calls `body` with an open connection, and again on a new one after each failure that may pass.
  ///
  /// The caller vouches that `body` has a key or changes nothing: a call with an unknown commit is
  /// repeated.
  package func repeating<Answer>(
    _ body: (PostgresConnection) throws(PostgresError) -> Answer
  ) throws(PostgresError) -> Answer {
    let end = ContinuousClock.now + .milliseconds(patience)
    var pause: UInt32 = 50_000
    var isUnknown = false
    while true {
      do throws(PostgresError) {
        let open = try open()
        return try retryingConflicts { () throws(PostgresError) in try body(open) }
      } catch {
        isUnknown = isUnknown || error.commit == .unknown
        guard error.mayRepeat, ContinuousClock.now < end else {
          // An earlier attempt may have been committed although the last one was not.
          throw PostgresError(
            error.reason, state: error.state, commit: isUnknown ? .unknown : .none, error.words)
        }
        connection = nil
        // Jitter keeps the nodes from knocking at a new primary at the same moment.
        usleep(UInt32.random(in: pause / 2...pause))
        pause = min(pause * 2, 1_000_000)
      }
    }
  }

  /// The open connection, or a new one to a schema that this program works with.
  private func open() throws(PostgresError) -> PostgresConnection {
    if let connection, connection.isOpen { return connection }
    let made = try PostgresConnection(options)
    try SchemaVersion(of: made).check(needed: version)
    connection = made
    return made
  }
}

/// A lane of a ``Batcher`` that uses challenges.
///
/// A use has a key (account, device, salt, digest), so a call with an unknown commit is repeated: it
/// answers `.again` if the commit succeeded.
package final class UseLane: BatchLane {
  private struct Key: Hashable {
    let account: Int32
    let device: [UInt8]
    let salt: [UInt8]
  }

  private let session: PostgresSession

  /// - Parameters:
  ///   - options: The settings of the lane's connection.
  ///   - patience: Milliseconds after the first failure in which a batch is tried again.
  package init(_ options: PostgresOptions, patience: Int64 = 3_000) {
    session = PostgresSession(options, patience: patience)
  }

  /// The server's process for this lane, if it is connected: for tests.
  package var backend: Int32? { session.backend }

  package func perform(_ calls: [ChallengeUse]) -> [Result<ChallengeUsed, PostgresError>] {
    var answers: [Int: Result<ChallengeUsed, PostgresError>] = [:]
    var waiting = Array(calls.indices)
    var failure: PostgresError?
    while !waiting.isEmpty, failure == nil {
      // A challenge that stands twice in the batch is used again after the first one's commit.
      var keys: Set<Key> = []
      let batch = waiting.filter { index in
        let call = calls[index]
        let key = Key(account: call.account, device: call.device, salt: call.salt)
        return keys.insert(key).inserted
      }
      waiting.removeAll { batch.contains($0) }
      do throws(PostgresError) {
        let used = try session.repeating { (connection) throws(PostgresError) in
          try connection.use(batch.map { calls[$0] })
        }
        for (index, used) in zip(batch, used) { answers[index] = .success(used) }
      } catch {
        failure = error
      }
    }
    return calls.indices.map { answers[$0] ?? .failure(failure!) }
  }
}

/// A lane of a ``Batcher`` that sends independent calls in one trip, each a transaction of its own.
///
/// Each call is repeated while its failure may pass, so it changes nothing, or has a key, or may be
/// committed twice.
package final class CallLane: BatchLane {
  private let session: PostgresSession
  private let renewal: PostgresCall?

  /// - Parameters:
  ///   - options: The settings of the lane's connection.
  ///   - patience: Milliseconds after the first failure in which calls are tried again.
  ///   - version: The oldest schema that the calls work with.
  ///   - renewal: Commits a write that renews the lease of the connection, for calls that need one.
  package init(
    _ options: PostgresOptions, patience: Int64 = 3_000,
    needing version: Int = SchemaVersion.needed, renewingBy renewal: PostgresCall? = nil
  ) {
    session = PostgresSession(options, patience: patience, needing: version)
    self.renewal = renewal
  }

  package func perform(_ calls: [PostgresCall]) -> [Result<PostgresRows, PostgresError>] {
    var answers: [Result<PostgresRows, PostgresError>?] = calls.map { _ in nil }
    do throws(PostgresError) {
      try session.repeating { (connection) throws(PostgresError) in
        let open = calls.indices.filter { answers[$0] == nil }
        var passing: PostgresError?
        let needLease = open.contains { calls[$0].needsLease }
        let begin = ContinuousClock.now
        var sent = open.map { calls[$0] }
        let renewal = needLease && connection.lease.isDue(at: begin) ? renewal : nil
        if let renewal { sent.append(renewal) }
        let received = connection.run(sent)
        if renewal != nil {
          if case .failure(let error) = received[open.count] {
            passing = error
          } else {
            connection.lease.renew(sentAt: begin)
          }
        }
        // Look at the clock after the readings: they are not older than the lease then.
        let holds = self.renewal == nil || connection.lease.holds(at: .now)
        for (index, answer) in zip(open, received) {
          if case .failure(let error) = answer, error.mayRepeat {
            passing = passing ?? error
          } else if calls[index].needsLease, !holds {
            passing =
              passing
              ?? PostgresError(.timedOut, "the primary confirmed no write, so its state may be old")
          } else {
            answers[index] = answer
          }
        }
        if let passing { throw passing }
      }
    } catch {
      return answers.map { $0 ?? .failure(error) }
    }
    return answers.map { $0! }
  }
}
