// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
import ProofModel

extension GateSession {
  // MARK: Start and stop

  /// Begins to fetch and renew the admission in the background, and returns at once.
  ///
  /// With a bad network the session tries again after 1, 2, 4 … 60 seconds for as long as it takes. A session that is
  /// started already goes on, and `ready` is dropped; after a failure or ``stop()`` it begins anew.
  ///
  /// - Parameter ready: Called at most once, on another thread: with nil as soon as proofs can be made, with an error
  ///   if waiting does not help. ``lastError`` tells of a bad network before.
  package func start(ready: (@Sendable (GateError?) -> Void)? = nil) {
    guard begin(ready) else { return }
    worker.start(self)
  }

  /// Does what ``start(ready:)`` does, but for the thread.
  func begin(_ ready: (@Sendable (GateError?) -> Void)?) -> Bool {
    let now = clock.uptime()
    let process = process()
    let isNew = state.withLock { state -> Bool in
      if case .working = state.phase, state.process == process { return false }
      _ = state.adopt(process, at: now)
      state.phase = .working
      state.lastAsked = now
      state.lastError = nil
      state.failures = 0
      state.isDormant = false
      state.hasRead = false
      state.due = now
      state.ready = ready
      return true
    }
    log.write(isNew ? .info : .warning, isNew ? "starting for \(host)" : "started already")
    return isNew
  }

  /// Ends the background work and drops the keys. ``start(ready:)`` begins anew.
  package func stop() {
    let wasWorking = state.withLock { state -> Bool in
      guard case .working = state.phase else { return false }
      state.phase = .idle
      state.keyring = nil
      state.clearances.drop()
      state.due = nil
      state.ready = nil
      return true
    }
    worker.end()
    if wasWorking { log.write(.info, "stopped") }
  }

  // MARK: The work

  private enum Step {
    case end
    case wait(until: Duration?)
    case read
    case fetch
  }

  /// Does what is due, on the calling thread.
  ///
  /// - Parameter cancellation: Ends a fetch early.
  /// - Returns: When something is due next, in uptime; nil: nothing until the session is asked. The outer nil: the
  ///   work is over.
  func work(_ cancellation: Cancellation = Cancellation()) -> Duration?? {
    while true {
      let now = clock.uptime()
      switch state.withLock({ Self.step(&$0, at: now, isStored: options.store != nil) }) {
      case .end: return .none
      case .wait(let until): return .some(until)
      case .read: read(at: now)
      case .fetch: fetch(since: now, cancellation)
      }
      if cancellation.isCancelled { return .none }
    }
  }

  private static func step(
    _ state: inout GateState, at now: Duration, isStored: Bool
  ) -> Step {
    guard case .working = state.phase else { return .end }
    if isStored, !state.hasRead {
      state.hasRead = true
      return .read
    }
    // Drops keys that are too old.
    let keys = state.freshKeyring(at: now)
    if let due = state.due, due <= now {
      let isQuiet = now - state.lastAsked > GateTimes.quiet
      if isQuiet, state.held != nil, state.ready == nil {
        state.isDormant = true
        state.due = nil
      } else {
        return .fetch
      }
    }
    let keysEnd = keys.flatMap { keys in
      state.held.map { keys.measured + .seconds(Int64($0.admitted.admission.freshness)) }
    }
    return .wait(until: [state.due, keysEnd].compactMap(\.self).min())
  }

  /// Takes the admission that an earlier start left, if it still counts and this is still the app.
  private func read(at now: Duration) {
    guard let store = options.store, let account = attestor.account else { return }
    let kept: GateStore.Kept?
    do throws(GateError) {
      kept = try store.read(account, api)
    } catch {
      fail(error)
      return
    }
    guard let kept else { return }
    let age = clock.time.now.seconds - kept.obtained.seconds
    guard (0..<Int64(kept.admitted.admission.life)).contains(age),
      (try? GateKeyring.derive(for: kept.admitted, in: attestor.surroundings)) != nil
    else { return }
    take(kept.admitted, obtained: now - .seconds(age))
  }

  private func fetch(since now: Duration, _ cancellation: Cancellation) {
    let time = clock.time.now
    let result = attestor.fetchAdmission(to: api, cancellation)
    if cancellation.isCancelled { return }
    guard let admitted = result.admitted else {
      failed(AttestationError(result))
      return
    }
    do throws(GateError) {
      // Measures once, so that the first proof is as quick as the others.
      _ = try GateKeyring.derive(for: admitted, in: attestor.surroundings)
    } catch {
      putOff(error)
      return
    }
    if let account = attestor.account {
      do throws(GateError) {
        try options.store?.write(
          GateStore.Kept(admitted: admitted, obtained: time), account, api)
      } catch {
        // This start has the admission, and the next one asks again.
        log.write(.warning, "\(error)")
      }
    }
    take(admitted, obtained: now)
  }

  var jitter: Double { 0.9 + 0.2 * random() }

  private func take(_ admitted: Admitted, obtained: Duration) {
    let jitter = jitter
    let ready = state.withLock { state -> (@Sendable (GateError?) -> Void)? in
      guard case .working = state.phase else { return nil }
      state.take(admitted, obtained: obtained, jitter: jitter)
      defer { state.ready = nil }
      return state.ready
    }
    log.write(
      .info,
      "ready: account \(attestor.account ?? ""), app \(attestor.surroundings.appName), SDK "
        + "\(CoreProbe.version), gate of \(host), generation \(admitted.admission.generation), "
        + "instance \(admitted.handle)")
    ready?(nil)
  }

  private func failed(_ failure: AttestationError) {
    let isHeld = state.withLock { $0.held != nil }
    if failure.canHeal || isHeld {
      putOff(.attestation(failure))
    } else {
      fail(.attestation(failure))
    }
  }

  private func putOff(_ error: GateError) {
    let now = clock.uptime()
    let jitter = jitter
    let wait = state.withLock { state -> Duration in
      state.lastError = error
      state.putOff(at: now, jitter: jitter)
      return (state.due ?? now) - now
    }
    log.write(.warning, "\(error) Next try in \(wait.components.seconds) s.")
    putOffObserver.withLock { $0 }?(error)
  }

  private func fail(_ error: GateError) {
    let ready = state.withLock { state -> (@Sendable (GateError?) -> Void)? in
      state.phase = .failed(error)
      state.lastError = error
      defer { state.ready = nil }
      return state.ready
    }
    log.write(.error, "\(error)")
    ready?(error)
  }
}

/// The one thread of a session.
final class GateWorker: Sendable {
  private struct Run {
    var number = 0
    var cancellation: Cancellation?
  }

  private let run = CoreLock(Run())
  private let signal = DispatchSemaphore(value: 0)

  /// Starts the thread; one that runs ends.
  func start(_ session: GateSession) {
    let cancellation = Cancellation()
    let (number, old) = run.withLock { run -> (Int, Cancellation?) in
      run.number += 1
      defer { run.cancellation = cancellation }
      return (run.number, run.cancellation)
    }
    old?.cancel()
    CoreThread.run { [weak session, signal] in
      while let next = session?.work(cancellation), self.isCurrent(number) {
        guard let next, let clock = session?.clock else {
          signal.wait()
          continue
        }
        let (seconds, attoseconds) = max(.zero, next - clock.uptime()).components
        _ = signal.wait(
          timeout: .now() + .seconds(Int(min(seconds, 86_400)))
            + .nanoseconds(Int(attoseconds / 1_000_000_000)))
      }
    }
  }

  /// Starts the thread again in a child, where it was left behind.
  func restart(_ session: GateSession) {
    guard run.withLock({ $0.cancellation != nil }) else { return }
    start(session)
  }

  /// Has the thread look at what is due.
  func wake() {
    if run.withLock({ $0.cancellation != nil }) { signal.signal() }
  }

  /// Ends the thread, and a fetch that it waits for.
  func end() {
    let old = run.withLock { run -> Cancellation? in
      run.number += 1
      defer { run.cancellation = nil }
      return run.cancellation
    }
    old?.cancel()
    if old != nil { signal.signal() }
  }

  private func isCurrent(_ number: Int) -> Bool { run.withLock { $0.number == number } }
}

extension Attestor {
  /// The name of the account; nil before the SDK is initialised.
  var account: String? { state.withLock { $0.session?.initial.account } }

  /// Fetches an admission, on the calling thread.
  func fetchAdmission(to host: APIAuthority, _ cancellation: Cancellation) -> FetchResult {
    let answer = Handover<FetchResult?>()
    let seat = Seat { answer.give($0) }
    return cancellation.withHandler({
      // Not under the cancellation's lock: leaving takes the attestor's.
      CorePool.pages.run { self.leave(seat) }
    }) {
      begin(FetchRequest.gate(host), seat)
      return answer.wait() ?? FetchResult(.poorNetwork, reason: "the fetch was cancelled")
    }
  }
}
