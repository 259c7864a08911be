// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The sequences that tell of newer configurations.
final class Watchers: Sendable {
  private struct State {
    var next = 0
    var all: [Int: AsyncStream<Attestor.Update>.Continuation] = [:]
  }

  private let state = CoreLock(State())

  func sequence() -> AsyncStream<Attestor.Update> {
    let (stream, continuation) = AsyncStream.makeStream(of: Attestor.Update.self)
    let number = state.withLock { state -> Int in
      state.next += 1
      state.all[state.next] = continuation
      return state.next
    }
    continuation.onTermination = { [state] _ in
      state.withLock { $0.all[number] = nil }
    }
    return stream
  }

  /// Tells all of a newer configuration. The caller holds no lock.
  func tell(of configuration: AccountConfiguration, with pins: Pins) {
    for continuation in state.withLock({ Array($0.all.values) }) {
      continuation.yield(.configuration(configuration.text))
      continuation.yield(.pins(pins))
    }
  }
}

extension Attestor {
  /// News of the account.
  public enum Update: Sendable, Hashable {
    /// A newer signed configuration.
    case configuration(String)
    /// The pins of a newer configuration. ``Pins/mustReplace(_:)`` tells whether connections must be
    /// closed.
    case pins(Pins)
  }

  /// Yields when the account's configuration becomes newer. Each caller has a sequence of its own, which
  /// begins when it is asked for. Nothing needs to be acknowledged.
  public var updates: AsyncStream<Update> { watchers.sequence() }

  /// The newest pins here. Reading changes nothing.
  public var pins: Pins { state.withLock { $0.session?.pins ?? Pins([:]) } }

  /// The newest signed configuration here, or the text that the attestor was made with. Reading changes
  /// nothing.
  public var accountConfiguration: String {
    state.withLock { state in
      state.session.map { $0.configuration?.text ?? $0.initial.text } ?? ""
    }
  }

  /// Asks the service for a newer configuration, for at most ``AttestorTimes/configuration``.
  ///
  /// - Throws: ``AttestationError``.
  public func update() async throws(AttestationError) {
    try await update(within: AttestorTimes.configuration)
  }

  /// Asks for a newer configuration. The sum of the requests is bounded by the transport's own time limits.
  package func update(within limit: Duration) async throws(AttestationError) {
    try await CorePool.fetches.value(
      orIfCancelled: AttestationError(.cancelled)
    ) { cancellation throws(AttestationError) in
      try self.updateNow(within: limit, cancellation)
    }
  }

  /// Asks for a newer configuration, on the calling thread.
  func updateNow(
    within limit: Duration, _ cancellation: Cancellation
  ) throws(AttestationError) {
    guard let session = state.withLock({ $0.session }) else {
      throw AttestationError(.notInitialized)
    }
    var channel = ServiceChannel(
      way, session.initial, held: session.configuration, timeLeft: limit,
      clock: surroundings.clock, cancellation: cancellation)
    do throws(AttestationExchange.Failure) {
      try channel.reachConfiguration()
    } catch {
      if cancellation.isCancelled { throw AttestationError(.cancelled) }
      throw AttestationError(error.result)
    }
    let newer = channel.newConfiguration
    if let newer { store(newer, in: session) }
    let isTaken = state.withLock { state -> Bool in
      guard state.session?.number == session.number else { return false }
      state.session?.hasAsked = true
      let before = state.session?.configuration?.serial
      if let newer { state.adopt(newer) }
      return state.session?.configuration?.serial != before
    }
    if isTaken, let newer { watchers.tell(of: newer, with: pins) }
  }
}

// For ProofMigration, whose calls clear flags and ask at most once.
extension Attestor {
  /// The number of the account's session; nil before the attestor has an account.
  package var sessionNumber: UInt64? { state.withLock { $0.session?.number } }

  /// Whether the service was asked for a configuration or a token.
  package var hasAsked: Bool { state.withLock { $0.session?.hasAsked ?? false } }

  /// Asks for a newer configuration, and blocks the calling thread for at most that time.
  package func updateAndWait(within limit: Duration) {
    let (answer, cancellation) = (Handover<Bool>(), Cancellation())
    CorePool.fetches.run {
      try? self.updateNow(within: limit, cancellation)
      answer.give(true)
    }
    if answer.wait(for: limit) == nil { cancellation.cancel() }
  }
}
