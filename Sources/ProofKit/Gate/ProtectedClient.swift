// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest

/// Sends requests to the account's APIs, with the proof that each API asks for.
///
/// The account's pins apply. No proof is made for a host that the account does not list, and no redirect
/// is followed: the app gets an answer with a status from 300 to 399. A value without state.
public struct ProtectedClient: Sendable {
  private let attestor: Attestor

  /// The time limit of a request, unless the call gives another.
  public static let time = Duration.seconds(60)

  init(_ attestor: Attestor) { self.attestor = attestor }

  // MARK: The whole

  /// Proves and sends a request. Answers each kind of challenge (status 428) once and sends again, each
  /// time with a new proof.
  ///
  /// Requests that meet one challenge at the same time share one solution. A second challenge of one kind
  /// is a response, as any other status is. At most 64 requests are under way; others wait in line.
  ///
  /// - Parameters:
  ///   - request: The request, without a proof.
  ///   - event: A business event to prove with the request.
  ///   - data: The business data that the event is bound to; empty for none.
  ///   - isSignedByInstallation: Whether the installation's key signs the request as well, for a route
  ///     that demands it.
  ///   - limit: The time limit. The time while a page is shown does not count.
  ///   - responseLimit: The size limit of the response, in bytes.
  /// - Returns: The response, with any status.
  /// - Throws: ``GateError``.
  public func perform(
    _ request: Request, event: EventID? = nil, data: [UInt8] = [],
    isSignedByInstallation: Bool = false, within limit: Duration = ProtectedClient.time,
    responseLimit: Int = 1 << 24
  ) async throws(GateError) -> Response {
    switch try await place(of: request) {
    case .open(let authority): return try await plain(request, authority, limit, responseLimit)
    case .gate(let gate, _):
      let client = isSignedByInstallation ? gate.signing : gate.client
      return try await client.perform(
        request, event: event, data: data, within: limit, responseLimit: responseLimit)
    }
  }

  // MARK: An HTTP client of the app's own

  /// Returns the request with the proof that its API asks for. Send it at once and once only, and hand
  /// the response to ``challenge(status:header:to:)``.
  ///
  /// Fields of an earlier proof are replaced. An API that needs no proof gets the request unchanged.
  /// Nothing of the request may change after this call.
  ///
  /// - Parameters:
  ///   - request: The request as it will be sent.
  ///   - event: A business event to prove with the request; its token goes into the field `proof-event`.
  ///   - data: The business data that the event is bound to; empty for none.
  ///   - isSignedByInstallation: Whether the installation's key signs the request as well.
  /// - Returns: The request with the proof.
  /// - Throws: ``GateError``.
  public func guarded<R: ProvableRequest>(
    _ request: R, event: EventID? = nil, data: [UInt8] = [], isSignedByInstallation: Bool = false
  ) async throws(GateError) -> R {
    guard case .gate(let gate, let authority) = try await place(of: request) else { return request }
    let answer = attestor.gates.answer(for: authority)
    return try await CorePool.fetches.value(orIfCancelled: GateError.cancelled) {
      _ throws(GateError) in
      var guarded = try gate.session.guarded(request, event: event, data: data)
      for field in answer { guarded.set(field.name, to: field.value) }
      guard isSignedByInstallation else { return guarded }
      return try gate.session.signedByInstallation(guarded)
    }
  }

  /// Returns a request without what ``guarded(_:event:data:isSignedByInstallation:)`` added, for a client
  /// that follows a redirect to another host.
  ///
  /// - Parameter request: A request that was guarded.
  /// - Returns: The request without proof, token, ticket, event, answer and clearance.
  public func unguarded<R: ProvableRequest>(_ request: R) -> R {
    var plain = request
    for gate in attestor.gates.all { plain = gate.session.unguarded(plain) }
    return plain
  }

  /// Reads each response of the app's own client: keeps what the gate hands out, and finds a challenge.
  ///
  /// - Parameters:
  ///   - status: The HTTP status.
  ///   - header: The value of a header field; nil if the response does not have it.
  ///   - request: The request that was sent, as ``guarded(_:event:data:isSignedByInstallation:)``
  ///     returned it.
  /// - Returns: The challenge; nil if the gate asks for nothing. ``solve(_:within:)`` answers it.
  public func challenge(
    status: Int, header: (String) -> String?, to request: some ProvableRequest
  ) -> Challenge? {
    let fields = GateField.ofResponses.compactMap { name in
      header(name).map { HeaderField(name, $0) }
    }
    let response = Response(status: status, fields: fields)
    guard let host = try? APIAuthority.of(request),
      let gate = attestor.gates.all.first(where: { $0.session.covers(host.text) })
    else { return nil }
    let refusal = gate.session.note(response, to: request)
    let found = status == 428 ? (try? GateClient.challenge(in: response)) ?? nil : nil
    let mustRepeat = refusal == .token || refusal == .clock || refusal == .proof
    guard found != nil || mustRepeat else { return nil }
    return Challenge(
      host: host.text, found: found, request: Request(request.method, request.url),
      isRepeatable: request.isRepeatable)
  }

  /// Solves a challenge. The answer is kept, and the next guarded request to the host carries it.
  ///
  /// - Parameters:
  ///   - challenge: The challenge.
  ///   - limit: The time limit. The time while a page is shown does not count.
  /// - Throws: ``GateError``.
  public func solve(
    _ challenge: Challenge, within limit: Duration = ProtectedClient.time
  ) async throws(GateError) {
    guard challenge.isRepeatable else { throw .challenge(.bodyNotRepeatable) }
    // A refusal of token, time or proof needs only another proof.
    guard let found = challenge.found else { return }
    guard case .gate(let gate, let authority) = try await place(of: challenge.request) else {
      throw .hostNotListed(challenge.host)
    }
    let answer = try await gate.client.answer(
      to: found, for: challenge.request, within: limit)
    attestor.gates.take(answer, for: authority)
  }

  /// A gate's demand in a response.
  public struct Challenge: Sendable, Hashable {
    /// The host of the API, with its port unless it is 443.
    public let host: String
    let found: GateClient.Challenge?
    let request: Request
    let isRepeatable: Bool

    /// Whether a page must be shown to a person.
    public var needsPerson: Bool { found?.needsPerson ?? false }
  }

  // MARK: Clearances

  /// Answers a challenge that the operator gave a name. The clearance is kept, and the requests that
  /// follow carry it.
  ///
  /// - Parameters:
  ///   - name: The challenge's name: 1 to 64 letters, digits, dots, hyphens and underscores.
  ///   - host: A host of the gate, with its port unless it is 443.
  ///   - limit: The time limit. The time while a page is shown does not count.
  /// - Throws: ``GateError``; ``GateError/challenge(_:)`` with ``ChallengeError/unknownName(_:)`` for a
  ///   name that the gate does not know.
  public func attest(
    _ name: String, at host: String, within limit: Duration = ProtectedClient.time
  ) async throws(GateError) {
    guard let authority = APIAuthority(host) else { throw .malformedHost(Observation.line(host)) }
    guard case .gate(let gate, _) = try await place(at: authority) else {
      throw .hostNotListed(authority.text)
    }
    _ = try await gate.client.attest(name, within: limit)
  }

  /// The clearance that counts now for a host: the note of its gate that challenges were answered.
  ///
  /// Requests carry it by themselves. Ask before each use, and keep none: a gate may give another one with
  /// any response, and a changed environment ends it. Measures the app, unless a measurement is younger
  /// than the time that the account sets.
  ///
  /// - Parameter host: A host of the gate, with its port unless it is 443.
  /// - Returns: The text for the field `Proof-Clearance`; nil if there is none.
  public func clearance(for host: String) async -> String? {
    guard let authority = APIAuthority(host)?.text,
      let gate = attestor.gates.all.first(where: { $0.session.covers(authority) })
    else { return nil }
    do throws(GateError) {
      return try await CorePool.fetches.value(orIfCancelled: GateError.cancelled) {
        _ throws(GateError) in gate.session.clearance(for: authority)
      }
    } catch {
      // The task was cancelled.
      return nil
    }
  }

  // MARK: Places

  private enum Place {
    /// A gate that is ready, and the host as the request has it.
    case gate(Gates.Gate, String)
    /// An API that needs no proof.
    case open(String)
  }

  private func place(of request: some ProvableRequest) async throws(GateError) -> Place {
    try await place(at: APIAuthority.of(request))
  }

  /// Finds out what an API asks for, and waits for the admission to its gate.
  private func place(at host: APIAuthority) async throws(GateError) -> Place {
    let gate: Gates.Gate
    if let known = attestor.gates.all.first(where: { $0.session.covers(host.text) }) {
      gate = known
    } else {
      switch try await attestor.kind(of: host) {
      case nil: throw .hostNotListed(host.text)
      case .token, .measurement, .none?: return .open(host.text)
      case .proof: gate = try attestor.gates.gate(for: host, of: attestor)
      }
    }
    if gate.session.isReady { return .gate(gate, host.text) }
    switch await gate.readiness.event() {
    case .ready: return .gate(gate, host.text)
    case .failed(let error): throw error
    case .putOff(.cancelled): throw .cancelled
    case .putOff(.attestation(let error)): throw .notReady(error)
    case .putOff(let error): throw error
    }
  }

  /// Sends a request to an API that needs no proof.
  private func plain(
    _ request: Request, _ authority: String, _ limit: Duration, _ responseLimit: Int
  ) async throws(GateError) -> Response {
    let attestor = attestor
    return try await CorePool.requests.value(orIfCancelled: GateError.cancelled) {
      cancellation throws(GateError) in
      var sent = TransportRequest(
        url: request.url, body: request.body,
        pins: try attestor.pins.keys(for: authority), timeout: limit,
        responseLimit: responseLimit, cancellation: cancellation)
      sent.method = request.method
      sent.fields = request.fields
      do throws(TransportError) {
        let answer = try attestor.way.transport.send(sent)
        return Response(status: answer.status, fields: answer.fields, body: answer.body)
      } catch {
        throw error == .cancelled ? .cancelled : .transport(error)
      }
    }
  }
}

extension GateField {
  /// The fields of a response that a session reads.
  static let ofResponses = [time, nonce, refusal, challenge, clearance, ticket, "date"]
}

extension APIAuthority {
  /// The host of a request, with its port unless that is the scheme's own.
  static func of(_ request: some ProvableRequest) throws(GateError) -> APIAuthority {
    let authority: String
    do throws(RequestFormatError) {
      authority = try RequestHead(method: request.method, url: request.url).authority
    } catch {
      if case .badMethod(let method) = error { throw .malformedMethod(Observation.line(method)) }
      throw .malformedRequest(reason: "\(error)")
    }
    guard let host = APIAuthority(authority) else {
      throw .malformedHost(Observation.line(authority))
    }
    return host
  }
}

extension Pins {
  /// The keys that an API may have: those of the host with its port if there are any, else those of the
  /// host.
  func keys(for authority: String) throws(GateError) -> [String] {
    if case .keys(let keys) = rule(for: authority) { return keys }
    let host = authority.first == "[" ? authority : String(authority.prefix { $0 != ":" })
    switch rule(for: host) {
    case .keys(let keys): return keys
    case .unpinned, .unknown: return []
    case .trustRoots:
      throw .transport(
        .refused("the account pins \(host) by trusted roots alone: give the host pins of its own"))
    }
  }
}

extension Attestor {
  /// The client for the account's APIs.
  public var client: ProtectedClient { ProtectedClient(self) }

  /// The kind of an API in the account; nil if it does not list it. Asks for a configuration if there is
  /// none.
  func kind(of host: APIAuthority) async throws(GateError) -> AccountConfiguration.Domain? {
    if state.withLock({ $0.session?.configuration }) == nil {
      do throws(AttestationError) {
        try await update(within: AttestorTimes.fetch)
      } catch {
        if error.reason == .cancelled { throw .cancelled }
        throw error.canHeal ? .notReady(error) : .attestation(error)
      }
    }
    let domains = state.withLock { $0.session?.configuration?.domains } ?? [:]
    return domains[host.text] ?? domains[String(host.text.prefix { $0 != ":" })]
  }

  /// Returns once the account's configuration is here and all its gates have admitted the app, so that
  /// requests and events can be proved.
  ///
  /// Tries again with back-off, from 1 s to 5 min, while the network is bad, for as long as it takes.
  /// Calling it is optional.
  ///
  /// - Throws: ``AttestationError``, only for what waiting does not mend.
  public func ready() async throws(AttestationError) {
    try await readyConfiguration()
    let hosts = state.withLock { state in
      (state.session?.configuration?.domains ?? [:]).filter { $0.value == .proof }.keys.sorted()
    }
    for host in hosts {
      guard let authority = APIAuthority(host) else { continue }
      do throws(GateError) {
        let gate = try gates.gate(for: authority, of: self)
        switch await gate.readiness.event(isForEnd: true) {
        case .ready: break
        case .failed(let error), .putOff(let error): throw error
        }
      } catch {
        throw AttestationError(of: error)
      }
    }
  }

  private func readyConfiguration() async throws(AttestationError) {
    var pause = Duration.seconds(1)
    while state.withLock({ $0.session?.configuration }) == nil {
      do throws(AttestationError) {
        try await update(within: AttestorTimes.fetch)
      } catch {
        guard error.canHeal else { throw error }
        gates.configuration?.log.write(.warning, "\(error)")
        let jitter = Double.random(in: 0.9...1.1)
        // A task that is cancelled here ends with its next update.
        try? await Task.sleep(for: pause * jitter)
        pause = min(pause * 2, .seconds(300))
      }
    }
  }

  /// Binds the proofs and event tokens that follow to a user account; nil for none. Kept in memory until
  /// it is changed.
  ///
  /// Only a digest under each gate's key leaves the device. An attacker who extracts the key from an app
  /// can guess short names.
  ///
  /// - Parameter name: The account's name, 1 to 128 bytes of UTF-8.
  /// - Throws: ``GateError/malformedAccount(byteCount:)``.
  public func setUser(_ name: String?) throws(GateError) {
    if let name { try GateSession.check(account: name) }
    try gates.setUser(name)
  }

  /// Makes a token for one business event. Needs no network, and does not wait for any.
  ///
  /// The app is measured first, unless a measurement is younger than the time that the account sets. A
  /// token made while the app can prove nothing is in the error state: it never counts, the redeemer
  /// counts it by its cause, and ``EventToken/cause`` tells. ``ready()`` prepares the first one.
  ///
  /// - Parameters:
  ///   - event: The event, as the account lists it.
  ///   - account: The user account, 1 to 128 bytes of UTF-8; nil for the one of ``setUser(_:)``.
  ///   - data: The business data that the token is bound to; empty for none.
  /// - Returns: The token.
  /// - Throws: ``GateError/unknownEvent(_:)``, ``GateError/malformedAccount(byteCount:)``.
  public func eventToken(
    for event: EventID, account: String? = nil, data: [UInt8] = []
  ) throws(GateError) -> EventToken {
    if let account { try GateSession.check(account: account) }
    let sessions = gates.all.map(\.session)
    // A gate whose admission is not here yet may list the event.
    let session =
      sessions.first { $0.lists(event) == true } ?? sessions.first { $0.lists(event) == nil }
    if let session { return try session.eventToken(for: event, account: account, data: data) }
    guard sessions.isEmpty else { throw .unknownEvent(event.rawValue) }
    gates.configuration?.log.write(
      .warning, "event token in the error state: ready() was not called")
    return EventToken(text: CompactDraft.errorText(.event, .notStarted), cause: .notStarted)
  }
}

extension AttestationError {
  /// The failure of a gate's admission.
  init(of error: GateError) {
    switch error {
    case .attestation(let error), .notReady(let error?): self = error
    case .cancelled: self.init(.cancelled)
    default: self.init(.internalError, error.description)
    }
  }
}
