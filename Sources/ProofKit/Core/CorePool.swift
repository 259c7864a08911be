// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
import ProofModel

/// A bounded number of threads that may block for long. Work that finds no free thread waits in line.
///
/// A thread is started when it is needed, and ends after 5 s without work. The threads belong neither to
/// Swift's shared pool nor to Dispatch: both have a limit, and a fetch that needs a thread would never run
/// if all of them waited for fetches.
final class CorePool: Sendable {
  /// Protected requests. Each may block for as long as a page is shown.
  static let requests = CorePool(limit: 64)
  /// Fetches, measurements, and files that another process may lock. They never wait for other work
  /// of a pool.
  static let fetches = CorePool(limit: 32)
  /// Puzzles. They only compute.
  static let puzzles = CorePool(limit: 16)
  /// Tasks of presenters, which run while a request waits for them.
  static let pages = CorePool(limit: 16)

  /// How long a thread waits for more work.
  private static let idleTime = DispatchTimeInterval.seconds(5)

  /// Work in line.
  final class Job: Sendable {
    private let body: CoreLock<(@Sendable () -> Void)?>

    init(_ body: @escaping @Sendable () -> Void) { self.body = CoreLock(body) }

    /// Takes the work out of line.
    ///
    /// - Returns: Whether it had not begun; it never will.
    func drop() -> Bool { take() != nil }

    func run() { take()?() }

    private func take() -> (@Sendable () -> Void)? {
      body.withLock { body in
        defer { body = nil }
        return body
      }
    }
  }

  private struct State {
    /// The process that the threads belong to.
    var process = CoreProcess.number
    var line: [Job] = []
    /// The place of the first job in `line`.
    var first = 0
    var threadCount = 0
    /// Threads that wait, and that no job has claimed.
    var idleCount = 0
    var signal = DispatchSemaphore(value: 0)
    /// Semaphores of processes before a fork. Releasing one that threads wait for ends the process.
    var abandoned: [DispatchSemaphore] = []

    mutating func next() -> Job? {
      guard first < line.count else { return nil }
      defer {
        first += 1
        if first == line.count || first == 1024 {
          line.removeFirst(first)
          first = 0
        }
      }
      return line[first]
    }

    /// A child has none of the threads of the process that it was forked from, and not its work.
    mutating func adopt(_ process: UInt64) {
      guard process != self.process else { return }
      let abandoned = abandoned + [signal]
      self = State()
      self.abandoned = abandoned
    }
  }

  private let limit: Int
  private let state = CoreLock(State())

  init(limit: Int) { self.limit = limit }

  /// How many threads there are now.
  var threadCount: Int { state.withLock { $0.threadCount } }

  /// Runs a body on one of the threads, and returns at once.
  @discardableResult
  func run(_ body: @escaping @Sendable () -> Void) -> Job {
    let job = Job(body)
    let process = CoreProcess.number
    let limit = limit
    let mustStart = state.withLock { state -> Bool in
      state.adopt(process)
      state.line.append(job)
      if state.idleCount > 0 {
        state.idleCount -= 1
        state.signal.signal()
        return false
      }
      guard state.threadCount < limit else { return false }
      state.threadCount += 1
      return true
    }
    if mustStart { CoreThread.run { self.work() } }
    return job
  }

  private func work() {
    while true {
      let next = state.withLock { state -> (Job?, DispatchSemaphore) in
        let job = state.next()
        if job == nil { state.idleCount += 1 }
        return (job, state.signal)
      }
      if let job = next.0 {
        job.run()
      } else if !hasMore(next.1) {
        return
      }
    }
  }

  /// Waits for a job; false if the thread has to end.
  private func hasMore(_ signal: DispatchSemaphore) -> Bool {
    if signal.wait(timeout: .now() + Self.idleTime) == .success { return true }
    let ends = state.withLock { state -> Bool in
      // Where no thread is unclaimed, a job has claimed this one, and its signal is there.
      guard state.idleCount > 0 else { return false }
      state.idleCount -= 1
      state.threadCount -= 1
      return true
    }
    if !ends { signal.wait() }
    return !ends
  }

  // MARK: From a task

  /// Runs a body on one of the threads. Cancelling the task cancels the body's `Cancellation`, and takes
  /// a body that has not begun out of line.
  ///
  /// - Parameters:
  ///   - cancelled: Thrown for a body that never began.
  ///   - leaves: Whether a cancelled task returns before a body that has begun ends.
  ///   - body: The work.
  /// - Returns: The result of the body.
  /// - Throws: The error of the body, or `cancelled`.
  func value<Value: Sendable, Failure: Error>(
    orIfCancelled cancelled: Failure, leaving leaves: Bool = false,
    _ body: @escaping @Sendable (Cancellation) throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let cancellation = Cancellation()
    let call = CoreLock<PoolCall<Result<Value, Failure>>?>(nil)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = CoreLock<CheckedContinuation<Result<Value, Failure>, Never>?>(continuation)
        let give: @Sendable (Result<Value, Failure>) -> Void = { result in
          answer.withLock { answer in
            defer { answer = nil }
            return answer
          }?.resume(returning: result)
        }
        let job = run {
          do throws(Failure) {
            give(.success(try body(cancellation)))
          } catch {
            give(.failure(error))
          }
        }
        let made = PoolCall(job: job, give: give)
        call.withLock { $0 = made }
        if Task.isCancelled, job.drop() || leaves { give(.failure(cancelled)) }
      }
    } onCancel: {
      cancellation.cancel()
      if let call = call.withLock({ $0 }), call.job.drop() || leaves {
        call.give(.failure(cancelled))
      }
    }
    return try result.get()
  }
}

/// A task's call of a pool.
private struct PoolCall<Value: Sendable>: Sendable {
  let job: CorePool.Job
  let give: @Sendable (Value) -> Void
}
