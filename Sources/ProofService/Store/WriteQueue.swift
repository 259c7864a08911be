// SPDX-License-Identifier: Apache-2.0

internal import HTTPServing
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

  /// The result of a job, or the error that it ended with.
  typealias Outcome = Swift.Result<Result, StoreError>

  /// Whether the job's changes must survive a power cut before it returns.
  let mustLast: Bool
  /// Whether the job may fail halfway for a reason of its own, which must not affect other jobs.
  let mayBeRefused: Bool
  fileprivate let body: (SQLiteConnection) throws(StoreError) -> Result
  fileprivate var outcome: Outcome?
  fileprivate let end: End

  /// The receiver of the outcome.
  fileprivate enum End {
    /// A thread that waits for the job. The turn is given to it when the job is over, or when it
    /// is that thread's turn to write.
    case turn(Turn)
    /// A function that takes the outcome. No thread waits, so the queue's own writes.
    case call(@Sendable (Outcome) -> Void)
  }

  /// A job.
  init(
    mustLast: Bool, mayBeRefused: Bool = false,
    _ body: @escaping (SQLiteConnection) throws(StoreError) -> Result
  ) {
    self.mustLast = mustLast
    self.mayBeRefused = mayBeRefused
    self.body = body
    end = .turn(Turn())
  }

  /// A job that no thread waits for.
  ///
  /// - Parameters:
  ///   - mustLast: Whether the job's changes must survive a power cut before `call` is called.
  ///   - body: The job.
  ///   - call: Takes the outcome, on a thread that writes. It must not use the store.
  init(
    mustLast: Bool, _ body: @escaping (SQLiteConnection) throws(StoreError) -> Result,
    _ call: @escaping @Sendable (Outcome) -> Void
  ) {
    self.mustLast = mustLast
    mayBeRefused = false
    self.body = body
    end = .call(call)
  }

  /// Tells the outcome to its receiver.
  fileprivate func tell() {
    switch end {
    case .turn(let turn): turn.give()
    case .call(let call): call(outcome!)
    }
  }
}

/// Lets jobs that come at the same time share one transaction, and so one wait for the disk.
///
/// A thread that finds the connection free takes all jobs that wait and runs them in one
/// transaction. Then it tells each outcome, and the first job that came meanwhile says who writes
/// next: the thread that waits for it, or the queue's own if none does. No outcome is told before the
/// transaction is on the disk. With one thread this is a transaction for each job.
final class WriteQueue: Sendable {
  private let desk: WriteDesk
  private let thread = CoreLock<WriterThread?>(nil)

  /// Makes a queue for a connection whose `synchronous` is FULL.
  init(_ connection: SQLiteConnection) { desk = WriteDesk(connection) }

  deinit { thread.withLock { $0?.end() } }

  /// The number of jobs that wait, of transactions that were begun, and of those that wait for the
  /// disk: for tests.
  var counts: (waiting: Int, transactions: Int, lasting: Int) { desk.counts }

  /// Runs a job, perhaps together with others, and waits for it.
  func run(_ job: WriteJob) throws(StoreError) -> WriteJob.Result {
    guard case .turn(let turn) = job.end else { preconditionFailure("No thread waits for it.") }
    if !desk.join(job) {
      turn.take()
      if let outcome = job.outcome { return try outcome.get() }
    }
    desk.write()
    return try job.outcome!.get()
  }

  /// Runs a job that no thread waits for, perhaps together with others, and returns at once.
  func submit(_ job: WriteJob) {
    let hasThread = thread.withLock { thread in
      if thread == nil { thread = WriterThread(desk) }
      return thread != nil
    }
    guard desk.join(job) else { return }
    // Write here if the system gives no thread.
    if hasThread { desk.ownTurn.give() } else { desk.write() }
  }
}

/// The jobs of a queue, for the threads that write: one at a time.
final class WriteDesk: Sendable {
  private struct State {
    var waiting: [WriteJob] = []
    var isBusy = false
    var transactions = 0
    /// The transactions that waited for the disk.
    var lasting = 0
  }

  private let state = CoreLock(State())
  private let writer: Writer
  /// Given to the queue's own thread when it must write.
  let ownTurn = Turn()

  init(_ connection: SQLiteConnection) { writer = Writer(connection) }

  var counts: (waiting: Int, transactions: Int, lasting: Int) {
    state.withLock { ($0.waiting.count, $0.transactions, $0.lasting) }
  }

  /// - Returns: Whether the caller must see to it that ``write()`` is called.
  func join(_ job: WriteJob) -> Bool {
    state.withLock { state in
      state.waiting.append(job)
      defer { state.isBusy = true }
      return !state.isBusy
    }
  }

  /// Runs the waiting jobs, of this thread and others, then hands over.
  func write() {
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
    // Hand over before telling the outcomes, so that the disk is never idle.
    switch next?.end {
    case .turn(let turn): turn.give()
    case .call: ownTurn.give()
    case nil: break
    }
    for job in batch { job.tell() }
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
