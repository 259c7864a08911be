// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Sends requests to the APIs of one gate, each with its proof.
///
/// Each sending has a proof of its own. A host with pins in the account's configuration must have
/// one of these keys. No redirect is followed: the app gets an answer with a status from 300 to
/// 399, and no proof goes to the address that the answer names.
package final class GateClient: Sendable {
  /// The time limit of a request, unless the call gives another.
  package static let time = Duration.seconds(60)

  /// The session that proves the requests.
  package let session: GateSession
  /// Whether the installation's key signs each request as well.
  package let signsByInstallation: Bool
  /// The way in which challenges are answered.
  package let challenges: ChallengeSettings
  let named = NamedChallenges()
  private let transport: any Transport

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - session: A session that was started.
  ///   - transport: The way to the APIs; nil for the attestor's.
  ///   - challenges: The way in which challenges are answered.
  package convenience init(
    _ session: GateSession, over transport: (any Transport)? = nil,
    challenges: ChallengeSettings = ChallengeSettings()
  ) {
    self.init(session, over: transport, signsByInstallation: false, challenges: challenges)
  }

  /// Makes a client for an API whose routes may demand a signature by the installation's key.
  ///
  /// - Parameters:
  ///   - session: A session that was started, of an attestor with an installation key.
  ///   - transport: The way to the APIs; nil for the attestor's.
  ///   - signsByInstallation: Whether each request is signed by the installation's key as well.
  ///   - challenges: The way in which challenges are answered.
  package init(
    _ session: GateSession, over transport: (any Transport)? = nil, signsByInstallation: Bool,
    challenges: ChallengeSettings = ChallengeSettings()
  ) {
    self.session = session
    self.challenges = challenges
    self.transport = transport ?? session.attestor.way.transport
    self.signsByInstallation = signsByInstallation
  }

  /// Proves and sends a request, and waits for its answer.
  ///
  /// If the gate asks for the gate token, another time or another proof, the request is proved
  /// again and sent once more for each of the three. The token is sent at most twice.
  ///
  /// A challenge (status 428) is answered, and the request is sent again, with the same method and body. A route that
  /// needs several kinds sets one challenge after the other: each kind is answered once in a call. Requests that meet
  /// one challenge at the same time share one solution. A second challenge of one kind is an answer: the app gets it.
  ///
  /// - Parameters:
  ///   - request: The request, without a proof.
  ///   - event: A business event to prove with the request.
  ///   - data: The business data that the event is bound to; empty for none.
  ///   - limit: The time limit of the whole call. The time while a page is shown does not count.
  ///   - responseLimit: The size limit of the answer, in bytes.
  ///   - cancellation: Ends the request early.
  /// - Returns: The answer with any status.
  /// - Throws: ``GateError``. ``GateError/tokenRefused`` if the gate refused the token twice,
  ///   ``GateError/challenge(_:)`` if a challenge could not be answered.
  package func performAndWait(
    _ request: Request, event: EventID? = nil, data: [UInt8] = [],
    within limit: Duration = GateClient.time, responseLimit: Int = 1 << 24,
    cancellation: Cancellation = Cancellation()
  ) throws(GateError) -> Response {
    let clock = session.clock
    var end = clock.uptime() + limit
    let answering = ChallengeAnswering(self, request, cancellation)
    defer { answering.finish() }
    // A gate that has just started asks for the token, and then for a proof with its own word on the time.
    var asked: [GateRefusal.Kind: Int] = [:]
    var tokenMax = 2
    var tokenChallenge: String?
    while true {
      var guarded = try session.guarded(request, event: event, data: data)
      guarded.set(GateField.challenge, to: tokenChallenge)
      for field in answering.fields { guarded.set(field.name, to: field.value) }
      if signsByInstallation { guarded = try session.signedByInstallation(guarded) }
      let left = end - clock.uptime()
      guard left > .zero else { throw .timedOut }
      let response = try send(guarded, left, responseLimit, cancellation)
      let refusal = session.note(response, to: guarded)
      // Ticket or token answer a challenge of kind token, beside its id.
      tokenChallenge = refusal == .token ? response.value(of: GateField.challenge) : nil
      guard let refusal else {
        guard response.status == 428, try answering.meet(response, to: guarded, before: &end) else {
          return response
        }
        continue
      }
      if !guarded.values(of: GateField.ticket).isEmpty { tokenMax = 3 }
      let count = asked[refusal, default: 0]
      asked[refusal] = count + 1
      switch refusal {
      case .token where count < tokenMax: continue
      case .token: throw .tokenRefused
      case .clock where count == 0, .proof where count == 0: continue
      default: return response
      }
    }
  }

  /// Proves and sends a request, as
  /// ``performAndWait(_:event:data:within:responseLimit:cancellation:)`` does, without blocking the
  /// calling thread.
  ///
  /// - Throws: ``GateError``; ``GateError/cancelled`` if the task is cancelled.
  package func perform(
    _ request: Request, event: EventID? = nil, data: [UInt8] = [],
    within limit: Duration = GateClient.time, responseLimit: Int = 1 << 24
  ) async throws(GateError) -> Response {
    try await Self.unblocked { cancellation throws(GateError) in
      try self.performAndWait(
        request, event: event, data: data, within: limit, responseLimit: responseLimit,
        cancellation: cancellation)
    }
  }

  func send(
    _ request: Request, _ time: Duration, _ limit: Int, _ cancellation: Cancellation
  ) throws(GateError) -> Response {
    if cancellation.isCancelled { throw .cancelled }
    var sent = TransportRequest(
      url: request.url, body: request.body, pins: try pins(for: request), timeout: time,
      responseLimit: limit, cancellation: cancellation)
    sent.method = request.method
    sent.fields = request.fields
    do throws(TransportError) {
      let answer = try transport.send(sent)
      return Response(status: answer.status, fields: answer.fields, body: answer.body)
    } catch {
      switch error {
      case .cancelled: throw .cancelled
      case .timedOut where time <= .zero: throw .timedOut
      default: throw .transport(error)
      }
    }
  }

  /// The keys that the account's newest configuration allows for the host: those of the host with its port if there
  /// are any, else those of the host.
  private func pins(for request: Request) throws(GateError) -> [String] {
    guard let names = session.hosts(of: request) else { return [] }
    let pins = session.attestor.pins
    if case .keys(let keys) = pins.rule(for: names.authority) { return keys }
    let host = names.host
    switch pins.rule(for: host) {
    case .keys(let keys): return keys
    case .unpinned, .unknown: return []
    case .trustRoots:
      throw .transport(
        .refused("the account pins \(host) by trusted roots alone: give the host pins of its own"))
    }
  }
}
