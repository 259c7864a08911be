/// A job for the one connection that writes.
///
/// `@unchecked Sendable` because the result is written and read under the queue's monitor.
final class WriteJob: @unchecked Sendable {
  /// What a job gives back.
  enum Result {
    case done
    case used(Bool)
    case count(UInt64)
  }

  /// Whether the job's changes must survive a power cut before it returns.
  let mustLast: Bool
  /// Whether the job may fail halfway for a reason of its own, which must not touch its neighbours.
  let mayBeRefused: Bool
  fileprivate let body: (SQLiteConnection) throws(StoreError) -> Result
  fileprivate var outcome: Swift.Result<Result, StoreError>?

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
/// Whoever finds the connection free takes all jobs that wait, runs them in one transaction and
/// tells their threads. Nobody is told before the transaction is on the disk. With one thread this
/// is a transaction for each job.
final class WriteQueue: @unchecked Sendable {
  private let monitor = Monitor()
  private let connection: SQLiteConnection
  // Both under the monitor.
  private var waiting: [WriteJob] = []
  private var isBusy = false
  // Only of whoever made the queue busy.
  private var isSynchronous = true

  /// A queue before a connection whose `synchronous` is FULL.
  init(_ connection: SQLiteConnection) { self.connection = connection }

  /// Runs a job, perhaps together with others.
  func run(_ job: WriteJob) throws(StoreError) -> WriteJob.Result {
    monitor.lock()
    waiting.append(job)
    while job.outcome == nil {
      guard !isBusy else {
        monitor.wait()
        continue
      }
      isBusy = true
      let batch = waiting
      waiting = []
      monitor.unlock()
      let outcomes = outcomes(of: batch)
      monitor.lock()
      // Under the monitor: whoever waits for one of them looks at it whenever anybody wakes.
      for (job, outcome) in zip(batch, outcomes) { job.outcome = outcome }
      isBusy = false
      monitor.wakeAll()
    }
    monitor.unlock()
    return try job.outcome!.get()
  }

  private func outcomes(of batch: [WriteJob]) -> [Swift.Result<WriteJob.Result, StoreError>] {
    var outcomes: [Swift.Result<WriteJob.Result, StoreError>] = []
    do throws(StoreError) {
      try setSynchronous(batch.contains { $0.mustLast })
      try connection.run(.begin)
      for job in batch { outcomes.append(try outcome(of: job)) }
      try connection.run(.commit)
    } catch {
      // All or none: what one job wrote is gone with the others'.
      if connection.isInTransaction { _ = try? connection.run(.rollBack) }
      outcomes = batch.map { _ in .failure(error) }
    }
    return outcomes
  }

  /// Runs a job within the transaction.
  ///
  /// - Throws: What ends the whole transaction; a job's own refusal is returned.
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

  /// In WAL mode FULL waits for the disk at each commit, NORMAL leaves that to the next FULL one.
  private func setSynchronous(_ mustLast: Bool) throws(StoreError) {
    guard mustLast != isSynchronous else { return }
    try connection.execute("PRAGMA synchronous = \(mustLast ? "FULL" : "NORMAL")")
    isSynchronous = mustLast
  }
}
