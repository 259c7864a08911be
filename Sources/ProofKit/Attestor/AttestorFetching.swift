// SPDX-License-Identifier: Apache-2.0

import ProofModel

extension Attestor {
  // MARK: Tokens

  /// Fetches a token for an API.
  ///
  /// The previous token is handed out while it is valid and the app's environment is unchanged.
  /// Concurrent calls for one API share one fetch. A failure is handed out again for
  /// ``AttestorTimes/failure``.
  ///
  /// - Parameter domain: The API's host, or an `https` URL of it. With `?measurement` at the end
  ///   the app is always measured anew, the token carries the measurements, and the result has the
  ///   configuration to keep.
  /// - Returns: The token, or the reason why there is none.
  /// - Throws: If the task is cancelled; the fetch ends if no other call waits for it.
  package func fetchToken(for domain: String) async throws(CancellationError) -> FetchResult {
    try await fetch(FetchRequest.token(domain))
  }

  /// Fetches a token for an API, blocking the calling thread.
  ///
  /// - Parameters:
  ///   - domain: The API's host, as in ``fetchToken(for:)``.
  ///   - time: The longest time that the call waits. It then gives up: the status is
  ///     ``FetchStatus/poorNetwork``, and the fetch ends if no other call waits for it.
  /// - Returns: The token, or the reason why there is none.
  package func fetchTokenAndWait(
    for domain: String, within time: Duration = AttestorTimes.wait
  ) -> FetchResult {
    fetchAndWait(FetchRequest.token(domain), time)
  }

  // MARK: Secure strings

  /// Fetches a secure string, or defines it anew.
  ///
  /// - Parameters:
  ///   - key: The string's name, 1 to 64 characters.
  ///   - newDefinition: Nil to leave it as it is; empty to remove it.
  /// - Returns: The string, or the reason why there is none.
  /// - Throws: If the task is cancelled; the fetch ends if no other call waits for it.
  package func fetchSecureString(
    _ key: String, newDefinition: String? = nil
  ) async throws(CancellationError) -> FetchResult {
    try await fetch(FetchRequest.secureString(key, newDefinition: newDefinition))
  }

  /// Fetches a secure string, or defines it anew, blocking the calling thread.
  ///
  /// - Parameters:
  ///   - key: The string's name, 1 to 64 characters.
  ///   - newDefinition: Nil to leave it as it is; empty to remove it.
  ///   - time: The longest time that the call waits. It then gives up: the status is
  ///     ``FetchStatus/poorNetwork``, and it is not known whether the string was defined.
  /// - Returns: The string, or the reason why there is none.
  package func fetchSecureStringAndWait(
    _ key: String, newDefinition: String? = nil, within time: Duration = AttestorTimes.wait
  ) -> FetchResult {
    fetchAndWait(FetchRequest.secureString(key, newDefinition: newDefinition), time)
  }

  // MARK: Custom tokens

  /// Fetches a token with claims of the app's own.
  ///
  /// - Parameter payload: The claims: a JSON object, at most 40,000 bytes, nested at most 16 deep. `iss`,
  ///   `sub`, `aud`, `nbf`, `iat` and `jti` may be among them where the account allows it.
  /// - Returns: The token, or the reason why there is none.
  /// - Throws: If the task is cancelled; the fetch ends if no other call waits for it.
  package func fetchCustomJWT(_ payload: String) async throws(CancellationError) -> FetchResult {
    try await fetch(FetchRequest.customJWT(payload))
  }

  /// Fetches a token with claims of the app's own, blocking the calling thread.
  ///
  /// - Parameters:
  ///   - payload: The claims: a JSON object, at most 64 KiB.
  ///   - time: The longest time that the call waits. It then gives up: the status is
  ///     ``FetchStatus/poorNetwork``, and the fetch ends if no other call waits for it.
  /// - Returns: The token, or the reason why there is none.
  package func fetchCustomJWTAndWait(
    _ payload: String, within time: Duration = AttestorTimes.wait
  ) -> FetchResult {
    fetchAndWait(FetchRequest.customJWT(payload), time)
  }

  // MARK: The two ways to wait

  /// Fetches a token, and calls back on a thread of the library, which the app may block.
  package func fetchToken(
    for domain: String, completion: @escaping @Sendable (FetchResult) -> Void
  ) {
    fetch(FetchRequest.token(domain), completion)
  }

  /// Fetches or defines a secure string, and calls back as ``fetchToken(for:completion:)`` does.
  package func fetchSecureString(
    _ key: String, newDefinition: String?, completion: @escaping @Sendable (FetchResult) -> Void
  ) {
    fetch(FetchRequest.secureString(key, newDefinition: newDefinition), completion)
  }

  /// Fetches a token with claims of the app's own, and calls back as ``fetchToken(for:completion:)``
  /// does.
  package func fetchCustomJWT(
    _ payload: String, completion: @escaping @Sendable (FetchResult) -> Void
  ) {
    fetch(FetchRequest.customJWT(payload), completion)
  }

  private func fetch(
    _ request: FetchRequest.Checked, _ completion: @escaping @Sendable (FetchResult) -> Void
  ) {
    begin(
      request,
      Seat { result in
        guard let result else { return }
        // Use another thread than the fetch's: other callers wait for it, and the app may block here.
        CoreThread.run { completion(result) }
      })
  }

  func fetch(
    _ request: FetchRequest.Checked
  ) async throws(CancellationError) -> FetchResult {
    let place = Place()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let seat = Seat { continuation.resume(returning: $0) }
        if place.take(seat) { self.begin(request, seat) } else { seat.fill(nil) }
      }
    } onCancel: {
      if let seat = place.leave() { self.leave(seat) }
    }
    guard let result else { throw CancellationError() }
    return result
  }

  func fetchAndWait(_ request: FetchRequest.Checked, _ time: Duration) -> FetchResult {
    let answer = Handover<FetchResult?>()
    let seat = Seat { answer.give($0) }
    begin(request, seat)
    if answer.wait(for: time) == nil { leave(seat) }
    // The call has given up its place: a result that came meanwhile counts.
    return answer.wait()
      ?? FetchResult(
        .poorNetwork, reason: "the fetch did not end within \(time): try again, or wait longer")
  }

  // MARK: One fetch for all equal calls

  /// Takes a place in a fetch, or begins one.
  func begin(_ request: FetchRequest.Checked, _ seat: Seat) {
    enum Next {
      case hand(FetchResult)
      case fly(AttestorState.Key, AttestorState.Flight)
      case wait
    }
    let now = surroundings.clock.uptime()
    let next = state.withLock { state -> Next in
      guard let session = state.session else {
        return .hand(FetchResult(.notInitialized, reason: "initialise the SDK first"))
      }
      let valid: FetchRequest
      switch request {
      case .failure(let refusal): return .hand(refusal.result)
      case .success(let request): valid = request
      }
      let key = AttestorState.Key(
        request: valid, session: session.number, settings: state.settings.number,
        distinction: valid.isShared ? state.definitions[valid.name, default: 0] : state.nextNumber()
      )
      if state.flights[key] == nil, let kept = state.kept(key, at: now), kept.environment == nil {
        return .hand(kept.result)
      }
      // Check under the lock, because a caller that gives up changes it under the lock.
      if seat.isOver { return .wait }
      if state.flights[key] != nil {
        state.flights[key]?.seats.append(seat)
        return .wait
      }
      let flight = AttestorState.Flight(
        number: state.nextNumber(), seats: [seat], session: session)
      state.flights[key] = flight
      return .fly(key, flight)
    }
    switch next {
    case .hand(let result): seat.fill(result)
    case .fly(let key, let flight): CorePool.fetches.run { self.fly(key, flight) }
    case .wait: break
    }
  }

  /// Removes a caller that gives up; when the last caller has left, the fetch ends.
  func leave(_ seat: Seat) {
    let cancellation = state.withLock { state -> Cancellation? in
      // Fill it under the lock, so that it gets no place after it has left.
      defer { seat.fill(nil) }
      for (key, flight) in state.flights where flight.seats.contains(where: { $0 === seat }) {
        state.flights[key]?.seats.removeAll { $0 === seat }
        guard state.flights[key]?.seats.isEmpty == true else { return nil }
        state.flights[key] = nil
        return flight.cancellation
      }
      return nil
    }
    cancellation?.cancel()
  }

  /// Runs one fetch, on the calling thread.
  private func fly(_ key: AttestorState.Key, _ flight: AttestorState.Flight) {
    // All callers left while it waited for a thread.
    if flight.cancellation.isCancelled { return }
    let clock = surroundings.clock
    let known = state.withLock { state in
      (state.session, state.settings, state.kept(key, at: clock.uptime()))
    }
    let present = known.0.flatMap { $0.number == key.session ? $0 : nil }
    guard let session = present ?? flight.session else { return }
    if let kept = known.2 {
      let isUnchanged = isUnchanged(kept.environment, session.pace, flight.cancellation)
      // A cancelled fetch has no callers, and its unfinished check says nothing of the environment.
      if flight.cancellation.isCancelled { return }
      if !isUnchanged {
        // The environment changed: tokens that were fetched before are no longer handed out.
        state.withLock { $0.dropAll() }
      } else if clock.uptime() < kept.goodUntil {
        // Check the time again, because the check of the environment took time too.
        let (seats, result) = state.withLock { state in
          (state.land(key, flight.number) ?? [], kept.result)
        }
        for seat in seats { seat.fill(result) }
        return
      }
    }
    let outcome = AttestationExchange(
      channel: ServiceChannel(
        way, session.initial, held: session.configuration, timeLeft: AttestorTimes.fetch,
        clock: clock,
        cancellation: flight.cancellation),
      surroundings: surroundings, settings: known.1, request: key.request, pace: session.pace
    ).run()
    if let configuration = outcome.configuration { store(configuration, in: session) }
    let (seats, result, update) = state.withLock { state in
      let seats = state.land(key, flight.number)
      let before = state.session?.configuration?.serial
      state.take(outcome, of: key, isAwaited: seats != nil, at: clock.uptime())
      let newest = state.session?.configuration
      return (seats ?? [], outcome.result, newest?.serial == before ? nil : newest)
    }
    if let update { watchers.tell(of: update, with: pins) }
    for seat in seats { seat.fill(result) }
  }

  private func isUnchanged(
    _ environment: EvidenceSet?, _ pace: ObservationPace, _ cancellation: Cancellation
  ) -> Bool {
    guard let environment else { return true }
    let now = try? surroundings.observer.observe(
      pace.environment, policy: pace.policy, limitLog2: pace.limitLog2, cancellation: cancellation)
    return now?.evidence == environment
  }
}
