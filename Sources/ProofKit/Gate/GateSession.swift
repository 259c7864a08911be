// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest

/// Proves this app's requests and events to one gate: a verifier that speaks HTTP.
///
/// A session fetches an admission from the attestation service, renews it, and derives the keys of proofs from a fresh
/// measurement each time, or at most once in the time that the account sets. It makes proofs without any network.
///
/// ``start(ready:)`` begins. ``guarded(_:event:data:)`` adds a proof to a request, and
/// ``eventToken(for:account:data:)`` proves a business event. ``GateClient`` sends requests, too.
package final class GateSession: Sendable {
  /// The set-up of a session.
  package struct Options: Sendable {
    /// Keeps the admission across restarts; nil if each start asks the service.
    package var store: GateStore?
    /// Takes log lines.
    package var log = Log.none
    /// Whether a proof may be made for an `http` URL of this machine itself. For tests, and a proxy beside the app.
    package var allowsPlainLoopback = false

    /// Describes the set-up of a session.
    package init(
      store: GateStore? = nil, log: Log = .none, allowsPlainLoopback: Bool = false
    ) {
      self.store = store
      self.log = log
      self.allowsPlainLoopback = allowsPlainLoopback
    }
  }

  /// The API that the session asks the service about: the first one of its gate. The account lists the others.
  package let host: String
  let api: APIAuthority
  let attestor: Attestor
  let options: Options
  let state: CoreLock<GateState>
  let worker = GateWorker()
  let flights = CoreLock(ChallengeAnswering.Flights())
  /// Called with the failure of each try that is put off.
  let putOffObserver = CoreLock<(@Sendable (GateError) -> Void)?>(nil)
  /// Replaced by tests: numbers from 0 to 1, and the number of the process.
  let random: @Sendable () -> Double
  let process: @Sendable () -> UInt64

  var clock: AttestorClock { attestor.surroundings.clock }
  var log: Log { options.log }

  /// Makes a session that is not started yet.
  ///
  /// - Parameters:
  ///   - attestor: An attestor of the account.
  ///   - host: The host of an API of kind `proof`.
  ///   - options: The store, the log, and the URLs allowed.
  /// - Throws: ``GateError/malformedHost(_:)``.
  package convenience init(
    _ attestor: Attestor, for host: String, options: Options = Options()
  ) throws(GateError) {
    try self.init(
      attestor, for: host, options: options, random: { Double.random(in: 0..<1) },
      process: { CoreProcess.number })
  }

  init(
    _ attestor: Attestor, for host: String, options: Options,
    random: @escaping @Sendable () -> Double, process: @escaping @Sendable () -> UInt64
  ) throws(GateError) {
    guard let api = APIAuthority(host) else { throw .malformedHost(Observation.line(host)) }
    self.host = api.text
    self.api = api
    self.attestor = attestor
    self.options = options
    self.random = random
    self.process = process
    state = CoreLock(
      GateState(process: process(), at: attestor.surroundings.clock.uptime()))
  }

  deinit { worker.end() }

  // MARK: The user

  /// Binds the proofs and tokens that follow to a user account; nil for none.
  ///
  /// Only a digest under the gate's key leaves the device. An attacker who extracts the key from an app can guess
  /// short names.
  ///
  /// - Parameter name: The account's name, 1 to 128 bytes of UTF-8.
  /// - Throws: ``GateError/malformedAccount(byteCount:)``.
  package func setAccount(_ name: String?) throws(GateError) {
    if let name { try Self.check(account: name) }
    state.withLock { state in state.account = name.map { GateState.Account(name: $0) } }
  }

  static func check(account name: String) throws(GateError) {
    guard (1...GateAccountKey.nameByteCountMax).contains(name.utf8.count) else {
      throw .malformedAccount(byteCount: name.utf8.count)
    }
  }

  // MARK: State

  /// The last failure to get an admission or to derive the keys; nil if there was none.
  package var lastError: GateError? { state.withLock { $0.lastError } }

  /// Whether proofs can be made now.
  package var isReady: Bool {
    let now = clock.uptime()
    return state.withLock { state in
      guard case .working = state.phase, let held = state.held else { return false }
      return now < held.end
    }
  }

  // MARK: Clearances

  /// The clearance that counts now for a host: the note of its gate that challenges were answered.
  ///
  /// Ask before each request, and keep none: a gate may give another one with any answer, and a changed environment
  /// ends it. ``guarded(_:event:data:)`` adds it by itself. The app is measured first, unless a measurement is younger
  /// than the time that the account sets.
  ///
  /// - Parameter host: A host of the gate, and its port unless it is 443.
  /// - Returns: The text for the field `Proof-Clearance`; nil if there is none.
  package func clearance(for host: String) -> String? {
    let now = clock.uptime()
    guard let authority = APIAuthority(host)?.text, let draw = try? draw(at: now),
      draw.held.admitted.admission.covers(authority), (try? keyring(draw)) != nil
    else { return nil }
    return state.withLock { $0.clearances.text(for: authority, at: now)?.text }
  }

  // MARK: Events

  /// Proves a business event to the redeemer of the token. Needs no network, and does not wait for
  /// any.
  ///
  /// The app is measured first, unless a measurement is younger than the time that the account
  /// sets.
  ///
  /// - Parameters:
  ///   - event: The event, as the account lists it.
  ///   - account: The user account; nil for the one that was set with ``setAccount(_:)``.
  ///   - data: The business data that the token is bound to; empty for none.
  /// - Returns: The token. If the app cannot prove anything, the token is in the error state and
  ///   never counts, and ``EventToken/cause`` is set.
  /// - Throws: ``GateError/unknownEvent(_:)``, ``GateError/malformedAccount(byteCount:)``.
  package func eventToken(
    for event: EventID, account: String? = nil, data: [UInt8] = []
  ) throws(GateError) -> EventToken {
    if let account { try Self.check(account: account) }
    do throws(GateError) {
      let now = clock.uptime()
      let draw = try draw(at: now)
      guard let events = draw.held.admitted.admission.events(of: event.rawValue) else {
        throw .unknownEvent(event.rawValue)
      }
      let keyring = try keyring(draw)
      let digest = data.isEmpty ? nil : Digest(hashing: data)
      let text = try compact(
        keyring, keyring.events(for: events.audience), draw.held, account, event.rawValue
      ) { .event(data: digest, account: $0) }
      return EventToken(text: text, cause: nil)
    } catch {
      if case .unknownEvent = error { throw error }
      let cause = error.cause
      log.write(.warning, "event token in the error state (\(cause.rawValue)): \(error)")
      return EventToken(text: CompactDraft.errorText(.event, cause), cause: cause)
    }
  }

  // MARK: Drawing keys

  /// Takes part in the session: checks that it can prove anything.
  func draw(at now: Duration) throws(GateError) -> GateState.Draw {
    let process = process()
    let (result, mustWake, isForked) = state.withLock {
      state -> (Result<GateState.Draw, GateError>, Bool, Bool) in
      let isForked = state.adopt(process, at: now)
      let mustWake = state.ask(at: now)
      switch state.phase {
      case .idle: return (.failure(.notStarted), false, isForked)
      case .failed(let error): return (.failure(error), false, isForked)
      case .working: break
      }
      guard let held = state.held, now < held.end else {
        if case .attestation(let failure) = state.lastError {
          return (.failure(.notReady(failure)), mustWake, isForked)
        }
        return (.failure(state.lastError ?? .notReady(nil)), mustWake, isForked)
      }
      let draw = GateState.Draw(
        held: held, keyring: state.freshKeyring(at: now), process: process)
      return (.success(draw), mustWake, isForked)
    }
    if isForked { worker.restart(self) } else if mustWake { worker.wake() }
    return try result.get()
  }

  /// The keys: those of a fresh measurement, or of one that is made now.
  func keyring(_ draw: GateState.Draw) throws(GateError) -> GateKeyring {
    if let keyring = draw.keyring { return keyring }
    let keyring: GateKeyring
    do throws(GateError) {
      keyring = try GateKeyring.derive(for: draw.held.admitted, in: attestor.surroundings)
    } catch {
      let now = clock.uptime()
      let jitter = jitter
      state.withLock { $0.lose(draw.held, error, at: now, jitter: jitter) }
      worker.wake()
      log.write(.warning, "\(error)")
      throw error
    }
    log.write(.debug, "measured; keys of \(keyring.keys.handle)")
    let isKept = draw.held.admitted.admission.freshness > 0
    state.withLock { state in
      guard state.process == draw.process, state.held?.number == draw.held.number else { return }
      state.isMeasurable()
      if isKept { state.keyring = keyring }
    }
    guard isKept else { return keyring }
    // The worker drops the keys when they are too old, even if no proof is asked for any more.
    worker.wake()
    return keyring
  }

  /// Makes a compact token.
  func compact(
    _ keyring: GateKeyring, _ keys: CompactKeys, _ held: GateState.Held, _ name: String?,
    _ event: UInt16, _ subject: (Digest?) -> CompactSubject
  ) throws(GateError) -> String {
    let clock = clock
    let now = clock.uptime()
    let process = process()
    do throws(ProofError) {
      let made = state.withLock { state -> Result<(CompactDraft, Digest?), ProofError> in
        do throws(ProofError) {
          // A child that was forked since it drew the keys has numbers of its own, too.
          _ = state.adopt(process, at: now)
          let account = try state.digest(of: name, under: held.admitted.admission.accountKey)
          let (start, count) = state.next()
          let age = (now - keyring.measured).components.seconds
          let draft = CompactDraft(
            created: state.time(clock, at: now), start: start, count: count,
            measured: UInt8(clamping: age), event: event, accountKey: account?.1 ?? 0,
            isYoung: now - state.begun < GateTimes.youth, beacon: state.beacon)
          return .success((draft, account?.0))
        } catch {
          return .failure(error)
        }
      }
      let (draft, account) = try made.get()
      return try draft.text(for: subject(account), with: keys)
    } catch {
      throw .malformedRequest(reason: "\(error)")
    }
  }
}

extension GateSession: CustomStringConvertible, CustomReflectable {
  /// The host; never a key.
  package var description: String { "GateSession(\(host))" }

  /// Shows the host.
  package var customMirror: Mirror { Mirror(self, children: ["host": host]) }
}

extension GateError {
  /// The cause that a token in the error state carries.
  var cause: CompactCause {
    switch self {
    case .notStarted: .notStarted
    case .notReady: .notReady
    case .attestation, .storageUnusable: .failed
    case .notMeasured, .environmentChanged: .measurement
    default: .internal
    }
  }
}
