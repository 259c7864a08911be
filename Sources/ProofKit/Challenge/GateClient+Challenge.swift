// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest

extension GateClient {
  // MARK: Clients of an app's own

  /// Answers a challenge for an app that sends with an HTTP client of its own.
  ///
  /// Guard the request again, add the fields, and send it. ``GateSession/note(_:to:)`` takes the clearance from the
  /// answer; the fields are of no further use then.
  ///
  /// - Parameters:
  ///   - challenge: The challenge, as ``challenge(in:cookies:)`` found it.
  ///   - request: The request that the gate answered with it.
  ///   - limit: The time limit. The time while a page is shown does not count.
  ///   - cancellation: Ends the work early.
  /// - Returns: The fields of the repeated request; none if the clearance that the session now holds suffices.
  /// - Throws: ``GateError``. Nothing is answered for a host that the account does not list for this gate.
  package func answerAndWait(
    to challenge: Challenge, for request: some ProvableRequest,
    within limit: Duration = GateClient.time, cancellation: Cancellation = Cancellation()
  ) throws(GateError) -> [HeaderField] {
    let head = try session.head(of: request)
    var end = session.clock.uptime() + limit
    return try fields(answering: challenge, for: request, head, &end, cancellation)
  }

  /// Answers a challenge, as ``answerAndWait(to:for:within:cancellation:)`` does, without blocking the calling thread.
  ///
  /// - Throws: ``GateError``; ``GateError/cancelled`` if the task is cancelled.
  package func answer(
    to challenge: Challenge, for request: some ProvableRequest,
    within limit: Duration = GateClient.time
  ) async throws(GateError) -> [HeaderField] {
    try await Self.unblocked { cancellation throws(GateError) in
      try self.answerAndWait(
        to: challenge, for: request, within: limit, cancellation: cancellation)
    }
  }

  /// The clearance that counts now for a host, as ``GateSession/clearance(for:)`` gives it. Ask before each request.
  package func clearance(for host: String) -> String? { session.clearance(for: host) }

  /// Runs a blocking body on a thread of the library.
  static func unblocked<Value: Sendable>(
    _ body: @escaping @Sendable (Cancellation) throws(GateError) -> Value
  ) async throws(GateError) -> Value {
    try await CorePool.requests.value(orIfCancelled: GateError.cancelled, body)
  }

  // MARK: The kinds

  /// The fields that answer a challenge. `end` moves by the time that a page is shown.
  func fields(
    answering challenge: Challenge, for request: some ProvableRequest, _ head: RequestHead,
    _ end: inout Duration, _ cancellation: Cancellation
  ) throws(GateError) -> [HeaderField] {
    guard request.isRepeatable else { throw .challenge(.bodyNotRepeatable) }
    let clock = session.clock
    let draw = try session.draw(at: clock.uptime())
    guard session.isAllowed(head), draw.held.admitted.admission.covers(head.authority) else {
      throw .hostNotListed(head.authority)
    }
    session.log.write(
      .info,
      "\(head.authority) asks for an answer of kind \(challenge.kind), level \(challenge.level)")
    let text: String
    switch challenge.kind {
    // Guarding the request adds ticket or token.
    case .token: return []
    case .proof: text = try proof(challenge, draw.held, head)
    case .work, .memoryWork:
      let work: WorkThreads
      do throws(ChallengeError) {
        work = try WorkThreads(challenge, challenges)
      } catch { throw .challenge(error) }
      let last = end
      text = try work.solve {
        if cancellation.isCancelled { return .cancelled }
        return clock.uptime() < last ? nil : .timedOut
      }
    case .person:
      let begun = clock.uptime()
      defer { end += clock.uptime() - begun }
      try show(challenge, draw.held, head, cancellation)
      return []
    }
    return [HeaderField(GateField.challenge, challenge.id), HeaderField(GateField.answer, text)]
  }

  /// Measures the app for this challenge alone: a measurement that the session keeps would not say how it is now.
  private func proof(
    _ challenge: Challenge, _ held: GateState.Held, _ head: RequestHead
  ) throws(GateError) -> String {
    let keyring = try session.keyring(
      .init(held: held, keyring: nil, process: session.process()))
    do throws(ProofError) {
      let proof = try keyring.keys.challengeProof(
        answering: challenge.bytes, at: held.admitted.admission.gate,
        for: ChallengePlace(
          method: head.method, scheme: head.scheme.rawValue, authority: head.authority,
          target: head.target))
      return Base64.encode(proof.bytes, .url)
    } catch {
      throw .malformedRequest(reason: "\(error)")
    }
  }

  /// Shows the gate's page, and keeps the clearance that it gives.
  private func show(
    _ challenge: Challenge, _ held: GateState.Held, _ head: RequestHead,
    _ cancellation: Cancellation
  ) throws(GateError) {
    guard let presenter = challenges.presenter else { throw .challenge(.presenterMissing) }
    let page = ChallengePage(
      challenge, at: "\(head.scheme.rawValue)://\(head.authority)", head.method, head.target,
      handle: Base64.encode(held.admitted.handle.bytes, .url), challenges.page)
    let shown = Handover<Result<String, PresenterError>>()
    // A caller may block the shared pool: the presenter must not need it.
    let task = Task.detached(executorPreference: CoreExecutor.shared) {
      do throws(PresenterError) {
        shown.give(.success(try await presenter.present(page)))
      } catch {
        shown.give(.failure(error))
      }
    }
    let result = cancellation.withHandler({ task.cancel() }) {
      shown.wait(for: ChallengeTimes.page)
    }
    task.cancel()
    if cancellation.isCancelled { throw .cancelled }
    switch result {
    case nil: throw .challenge(.page(.system))
    case .failure(let error): throw .challenge(.page(error))
    case .success(let data):
      guard session.take(clearance: data, for: head.authority) else {
        throw .challenge(.page(.abnormalData))
      }
    }
  }
}

extension GateSession {
  /// Keeps a clearance for a host.
  ///
  /// - Returns: Whether the text is a clearance for this app and host that has not expired.
  func take(clearance text: String, for authority: String) -> Bool {
    let now = clock.uptime()
    let clock = clock
    return state.withLock { state in
      guard let held = state.held, held.admitted.admission.covers(authority),
        let clearance = Clearances.Held(
          text, for: authority, held.admitted.handle, state.time(clock, at: now), now)
      else { return false }
      state.clearances.take(clearance, for: authority)
      return true
    }
  }
}
