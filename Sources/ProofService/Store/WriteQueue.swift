// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// A job for the one connection that writes.
///
/// `@unchecked Sendable` because the outcome is written before `turn` is given, and read after it.
final class WriteJob: @unchecked Sendable {
  /// The result of a job.
  enum Result {
    case done
    case outcome(SaltOutcome)
    case count(UInt64)
  }

  /// Whether the job's changes must survive a power cut before it returns.
  let mustLast: Bool
  /// Whether the job may fail halfway for a reason of its own, which must not affect other jobs.
  let mayBeRefused: Bool
  fileprivate let body: (SQLiteConnection) throws(StoreError) -> Result
  fileprivate var outcome: Swift.Result<Result, StoreError>?
  /// Signalled to the thread that waits for the job: it is over, or it is that thread's turn to
  /// write.
  fileprivate let turn = Turn()

  /// A job.
  init(
    mustLast: Bool, mayBeRefused: Bool = false,
    _ body: @escaping (SQLiteConnection) throws(StoreError) -> Result
  ) {
    self.mustLast = mustLast
    self.mayBeRefused = mayBeRefused
    self.body = body
  }
}

/// Lets threads that write at the same time share one transaction, and so one wait for the disk.
///
/// A thread that finds the connection free takes all jobs that wait and runs them in one
/// transaction. Then it tells each job's thread the result, and one of the threads that came
/// meanwhile writes next. No thread is told before the transaction is on the disk. With one thread
/// this is a transaction for each job.
final class WriteQueue: Sendable {
  private struct State {
    var waiting: [WriteJob] = []
    var isBusy = false
    var transactions = 0
    /// The transactions that waited for the disk.
    var lasting = 0
  }

  private let state = CoreLock(State())
  private let writer: Writer

  /// Makes a queue for a connection whose `synchronous` is FULL.
  init(_ connection: SQLiteConnection) { writer = Writer(connection) }

  /// The number of jobs that wait, of transactions that were begun, and of those that wait for the
  /// disk: for tests.
  var counts: (waiting: Int, transactions: Int, lasting: Int) {
    state.withLock { ($0.waiting.count, $0.transactions, $0.lasting) }
  }

  /// Runs a job, perhaps together with others.
  func run(_ job: WriteJob) throws(StoreError) -> WriteJob.Result {
    if !join(job) {
      job.turn.take()
      if let outcome = job.outcome { return try outcome.get() }
    }
    write()
    return try job.outcome!.get()
  }

  /// - Returns: Whether this thread must write.
  private func join(_ job: WriteJob) -> Bool {
    state.withLock { state in
      state.waiting.append(job)
      defer { state.isBusy = true }
      return !state.isBusy
    }
  }

  /// Runs the waiting jobs, of this thread and others, then hands over.
  private func write() {
    let batch = state.withLock { state in
      defer { state.waiting = [] }
      state.transactions += 1
      if state.waiting.contains(where: \.mustLast) { state.lasting += 1 }
      return state.waiting
    }
    for (job, outcome) in zip(batch, writer.outcomes(of: batch)) { job.outcome = outcome }
    let next = state.withLock { state in
      if state.waiting.isEmpty { state.isBusy = false }
      return state.waiting.first
    }
    // Hand over before waking the finished threads, so that the disk is never idle.
    next?.turn.give()
    for job in batch { job.turn.give() }
  }
}

/// Runs batches on the connection, one thread at a time: the thread that made the queue busy.
///
/// `@unchecked Sendable` because the queue lets one thread at a time use it.
private final class Writer: @unchecked Sendable {
  private let connection: SQLiteConnection
  private var isSynchronous = true

  init(_ connection: SQLiteConnection) { self.connection = connection }

  func outcomes(of batch: [WriteJob]) -> [Swift.Result<WriteJob.Result, StoreError>] {
    var outcomes: [Swift.Result<WriteJob.Result, StoreError>] = []
    do throws(StoreError) {
      try setSynchronous(batch.contains { $0.mustLast })
      try connection.run(.begin)
      for job in batch { outcomes.append(try outcome(of: job)) }
      try connection.run(.commit)
    } catch {
      // All or none: one job's changes are rolled back with the others'.
      if connection.isInTransaction { _ = try? connection.run(.rollBack) }
      outcomes = batch.map { _ in .failure(error) }
    }
    return outcomes
  }

  /// Runs a job within the transaction.
  ///
  /// - Throws: An error that ends the whole transaction; a job's own refusal is returned.
  private func outcome(
    of job: WriteJob
  ) throws(StoreError) -> Swift.Result<WriteJob.Result, StoreError> {
    guard job.mayBeRefused else { return .success(try job.body(connection)) }
    try connection.run(.mark)
    do throws(StoreError) {
      let result = try job.body(connection)
      try connection.run(.forgetMark)
      return .success(result)
    } catch {
      switch error {
      case .alreadyThere, .changedMeanwhile: break
      default: throw error
      }
      try connection.run(.rollBackToMark)
      try connection.run(.forgetMark)
      return .failure(error)
    }
  }

  /// In WAL mode, FULL waits for the disk at each commit; NORMAL leaves that to the next FULL one.
  private func setSynchronous(_ mustLast: Bool) throws(StoreError) {
    guard mustLast != isSynchronous else { return }
    try connection.execute("PRAGMA synchronous = \(mustLast ? "FULL" : "NORMAL")")
    isSynchronous = mustLast
  }
}
