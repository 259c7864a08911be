// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest

/// The gates of an attestor's account: a session for each, made when it is needed.
final class Gates: Sendable {
  struct Gate: Sendable {
    let session: GateSession
    let client: GateClient
    /// The same, for routes that demand a signature by the installation's key.
    let signing: GateClient
    let readiness: Readiness
  }

  private struct State {
    var configuration: Configuration?
    var account: String?
    var user: String?
    var all: [String: Gate] = [:]
    /// The answers to challenges that the next request to a host carries.
    var answers: [String: [HeaderField]] = [:]
  }

  private let state = CoreLock(State())

  var configuration: Configuration? { state.withLock { $0.configuration } }

  /// Takes a configuration. Gates that were made under another one serve the calls that use them.
  func configure(_ configuration: Configuration, account: String) {
    state.withLock { state in
      state.all = [:]
      state.answers = [:]
      if state.account != account { state.user = nil }
      state.account = account
      state.configuration = configuration
    }
  }

  /// Sets the user of the gates that there are, and of those that come.
  func setUser(_ name: String?) throws(GateError) {
    let all = state.withLock { state in
      state.user = name
      return Array(state.all.values)
    }
    for gate in all { try gate.session.setAccount(name) }
  }

  /// All gates, in order of their hosts.
  var all: [Gate] { state.withLock { $0.all.sorted { $0.key < $1.key }.map(\.value) } }

  /// The gate of an API, made and started if there is none.
  func gate(for api: APIAuthority, of attestor: Attestor) throws(GateError) -> Gate {
    let (found, configuration, user) = state.withLock { state in
      let covering = state.all.values.first { $0.session.covers(api.text) }
      return (covering ?? state.all[api.text], state.configuration, state.user)
    }
    if let found {
      if found.readiness.mustBegin { found.readiness.begin(found.session) }
      return found
    }
    var settings = configuration?.challenges ?? ChallengeSettings()
    settings.presenter = configuration?.presenter ?? settings.presenter
    let session = try GateSession(
      Attestor(sharing: attestor), for: api.text,
      options: .init(
        store: attestor.storage.map { GateStore(folder: $0) }, log: configuration?.log ?? .none,
        allowsPlainLoopback: configuration?.network.allowsPlainLoopback ?? false))
    try session.setAccount(user)
    let made = Gate(
      session: session, client: GateClient(session, challenges: settings),
      signing: GateClient(session, signsByInstallation: true, challenges: settings),
      readiness: Readiness())
    // Another call may have made one meanwhile.
    let gate = state.withLock { state in
      let gate = state.all[api.text] ?? made
      state.all[api.text] = gate
      return gate
    }
    if gate.readiness.mustBegin { gate.readiness.begin(gate.session) }
    return gate
  }

  func take(_ answer: [HeaderField], for authority: String) {
    state.withLock { $0.answers[authority] = answer }
  }

  /// The answer for the next request to a host; each is given out once.
  func answer(for authority: String) -> [HeaderField] {
    state.withLock { $0.answers.removeValue(forKey: authority) ?? [] }
  }
}

/// Tells the calls that wait for a gate's first admission what came of it.
final class Readiness: Sendable {
  enum Event: Sendable, Hashable {
    case ready
    case failed(GateError)
    /// A try failed, and another one comes.
    case putOff(GateError)
  }

  private struct Waiting {
    let isForEnd: Bool
    let tell: @Sendable (Event) -> Void
  }

  private struct State {
    var isBegun = false
    /// The last event: the end, or a try that failed.
    var last: Event?
    var next = 0
    var waiting: [Int: Waiting] = [:]
  }

  private let state = CoreLock(State())

  /// Whether the session has to be started: it was not yet, or it failed for good.
  var mustBegin: Bool {
    state.withLock { state in
      if case .failed = state.last { return true }
      return !state.isBegun
    }
  }

  func begin(_ session: GateSession) {
    let isFirst = state.withLock { state -> Bool in
      if case .failed = state.last { state.isBegun = false }
      guard !state.isBegun else { return false }
      state.isBegun = true
      state.last = nil
      return true
    }
    guard isFirst else { return }
    session.putOffObserver.withLock { observer in
      observer = { [weak self] error in self?.tell(.putOff(error)) }
    }
    session.start { [weak self] error in self?.tell(error.map(Event.failed) ?? .ready) }
  }

  private func tell(_ event: Event) {
    let told = state.withLock { state -> [Waiting] in
      // A renewal that is put off says nothing of the admission that is here.
      if state.last == .ready { return [] }
      state.last = event
      let isEnd = event.isEnd
      let told = state.waiting.filter { isEnd || !$0.value.isForEnd }
      for number in told.keys { state.waiting[number] = nil }
      return Array(told.values)
    }
    for waiting in told { waiting.tell(event) }
  }

  /// Waits for an event.
  ///
  /// - Parameter isForEnd: Whether tries that are put off do not count.
  /// - Returns: The last event, or the next one if there was none. A cancelled task gets one with
  ///   ``GateError/cancelled``.
  func event(isForEnd: Bool = false) async -> Event {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Event, Never>) in
        let last = state.withLock { state -> Event? in
          if let last = state.last, last.isEnd || !isForEnd { return last }
          state.waiting[number] = Waiting(isForEnd: isForEnd) { continuation.resume(returning: $0) }
          return nil
        }
        if let last { continuation.resume(returning: last) }
        if Task.isCancelled { leave(number) }
      }
    } onCancel: {
      leave(number)
    }
  }

  private func leave(_ number: Int) {
    let waiting = state.withLock { $0.waiting.removeValue(forKey: number) }
    waiting?.tell(.putOff(.cancelled))
  }
}

extension Readiness.Event {
  fileprivate var isEnd: Bool { if case .putOff = self { false } else { true } }
}

extension GateSession {
  /// Whether the session's admission lists a host.
  func covers(_ authority: String) -> Bool {
    state.withLock { $0.held?.admitted.admission.covers(authority) ?? false }
  }

  /// Whether the session's admission lists an event; nil without an admission.
  func lists(_ event: EventID) -> Bool? {
    state.withLock { state in
      state.held.map { $0.admitted.admission.events(of: event.rawValue) != nil }
    }
  }
}
