// SPDX-License-Identifier: Apache-2.0

package import ProofModel
import ProofRequest

/// The header fields of the gate protocol that no account renames.
package enum GateField {
  /// An answer's beacon.
  package static let time = "proof-time"
  /// The gate's word on the time, with a refusal of the class `clock`.
  package static let nonce = "proof-nonce"
  /// The class of a refusal: `token`, `clock`, `proof` or `refused`.
  package static let refusal = "proof-refusal"
  /// A request's event token.
  package static let event = "proof-event"
  /// An answer's challenge, and the request that answers it.
  package static let challenge = "proof-challenge"
  /// The answer to a challenge.
  package static let answer = "proof-answer"
  /// The note that challenges were answered: in answers, and in the requests that follow.
  package static let clearance = "proof-clearance"
  /// The ticket that a gate gives for the gate token: in an answer, and in a request that another node asks it of.
  package static let ticket = "proof-ticket"
}

extension GateSession {
  /// Adds to a request what its gate asks for: the proof, and the gate token where the gate does not know it yet.
  ///
  /// Fields of an earlier proof are replaced, and the clearance is added that the session holds for the host. Send the
  /// request at once and once only: a gate accepts each proof once. Sign again before the request is sent again.
  /// Nothing of the request may change after this call.
  ///
  /// - Parameters:
  ///   - request: The request as it will be sent.
  ///   - event: A business event to prove with the request; its token goes into the field `proof-event`.
  ///   - data: The business data that the event is bound to; empty for none.
  /// - Returns: The request with the proof.
  /// - Throws: ``GateError``. No proof is made for a host that the account does not list for this gate.
  package func guarded<R: ProvableRequest>(
    _ request: R, event: EventID? = nil, data: [UInt8] = []
  ) throws(GateError) -> R {
    let head = try head(of: request)
    let draw = try draw(at: clock.uptime())
    let admission = draw.held.admitted.admission
    guard isAllowed(head), admission.covers(head.authority) else {
      throw .hostNotListed(head.authority)
    }
    guard draw.held.tokenRefusals < 2 else { throw .tokenRefused }
    let keyring = try keyring(draw)
    var guarded = request
    for name in Self.ownFields + admission.headers.names { guarded.set(name, to: nil) }
    let now = clock.uptime()
    if let held = state.withLock({ $0.clearances.text(for: head.authority, at: now) }) {
      guarded.set(GateField.clearance, to: held.text)
    }
    if let event {
      let token = try eventToken(for: event, data: data)
      guarded.set(GateField.event, to: token.text)
    }
    if draw.held.offersTicket, let ticket = draw.held.ticket {
      guarded.set(GateField.ticket, to: ticket)
    } else if !draw.held.isTokenKnown {
      guarded.set(admission.headers.token, to: Base64.encode(admission.token.bytes, .url))
    }
    switch admission.form {
    case .standard: try signStandard(&guarded, head, keyring, draw.held)
    case .compact:
      let digest = try digest(of: head, request)
      if let name = admission.headers.digest {
        guarded.set(name, to: Base64.encode(digest.bytes, .url))
      }
      let text = try compact(keyring, keyring.compact, draw.held, nil, 0) {
        .request(digest, account: $0)
      }
      guarded.set(admission.headers.proof, to: text)
    case .body:
      let digest = Digest(hashing: request.body ?? [])
      let text = try compact(keyring, keyring.compact, draw.held, nil, 0) {
        .body(digest, account: $0)
      }
      guarded.set(admission.headers.proof, to: text)
    }
    log.write(.debug, "\(head.method) \(head.authority): proved")
    return guarded
  }

  /// Removes from a request all that ``guarded(_:event:data:)`` and an answer to a challenge added.
  ///
  /// An app whose own HTTP client follows redirects calls this before the request goes to another host.
  ///
  /// - Parameter request: A request that was guarded.
  /// - Returns: The request without proof, token, ticket, event, answer and clearance.
  package func unguarded<R: ProvableRequest>(_ request: R) -> R {
    let names = state.withLock { $0.held?.admitted.admission.headers.names } ?? []
    var plain = request
    for name in Self.ownFields + Self.signatureFields + names { plain.set(name, to: nil) }
    return plain
  }

  /// The fields of this protocol that no account renames.
  private static let ownFields = [
    GateField.event, GateField.challenge, GateField.answer, GateField.clearance, GateField.ticket,
  ]
  private static let signatureFields = [
    "signature-input", "signature", "content-digest", StandardForm.accountField,
  ]

  /// Hands an answer of one of the gate's APIs back to the session, for an app that sends with a client of its own.
  ///
  /// The session takes the beacon of the field `proof-time`, a ticket, a clearance, and the class of a refusal, which
  /// it returns. A challenge of kind `token` is the refusal of class `token`. After a
  /// refusal of class `token`, `clock` or `proof` guard the request again and send it once more.
  ///
  /// - Parameters:
  ///   - response: The answer.
  ///   - request: The request that was sent, as ``guarded(_:event:data:)`` returned it.
  /// - Returns: The class of the refusal; nil if the gate refused nothing.
  @discardableResult
  package func note(_ response: Response, to request: some ProvableRequest) -> GateRefusal.Kind? {
    guard let head = try? head(of: request), isAllowed(head) else { return nil }
    let now = clock.uptime()
    let beacon = response.value(of: GateField.time).flatMap { try? Beacon(header: $0) }
    let refusal = Self.refusal(of: response)
    let date = response.value(of: "date").flatMap(HTTPDate.init)?.time
    let clock = clock
    let word = response.value(of: GateField.nonce).flatMap { GateState.Word($0, at: now) }
    let mustWake = state.withLock { state -> Bool? in
      guard var held = state.held, held.admitted.admission.covers(head.authority) else {
        return nil
      }
      defer { state.held = held }
      if head.authority == api.text { state.isPlain = head.scheme != .https }
      if let beacon, beacon.interval > state.beacon?.interval ?? 0 { state.beacon = beacon }
      if refusal == .clock {
        if let date { state.anchor = (date, now) }
        if let word { state.word = word }
      }
      if let text = response.value(of: GateField.clearance),
        let clearance = Clearances.Held(
          text, for: head.authority, held.admitted.handle, date ?? clock.time.now, now)
      {
        state.clearances.take(clearance, for: head.authority)
      }
      let sentTicket =
        held.ticket != nil && request.values(of: GateField.ticket).first == held.ticket
      if let ticket = response.value(of: GateField.ticket), Self.isTicket(ticket) {
        held.ticket = ticket
      }
      let name = held.admitted.admission.headers.token
      let hadToken =
        request.values(of: name).first
        == Base64.encode(held.admitted.admission.token.bytes, .url)
      guard refusal == .token else {
        // A gate that could not open the token says so, also where it asks for work first.
        let isOpened = response.value(of: GateField.refusal) != "token"
        if hadToken || sentTicket, isOpened, refusal != nil || response.status < 500 {
          held.isTokenKnown = true
          held.offersTicket = false
          held.tokenRefusals = 0
          state.failures = 0
        }
        return false
      }
      // A node that cannot open the ticket gets the token.
      if sentTicket {
        held.ticket = nil
        held.offersTicket = false
      }
      held.isTokenKnown = false
      guard hadToken else {
        held.offersTicket = held.ticket != nil
        return false
      }
      held.tokenRefusals += 1
      guard held.tokenRefusals == 2 else { return false }
      state.lastError = .tokenRefused
      state.putOff(at: now, jitter: 1)
      return true
    }
    guard let mustWake else { return nil }
    if mustWake { worker.wake() }
    if let refusal { log.write(.info, "\(head.authority) refused a request: \(refusal)") }
    return refusal
  }

  static func refusal(of response: Response) -> GateRefusal.Kind? {
    guard response.status == 401 || response.status == 428 else { return nil }
    if response.status == 428, let challenge = (try? GateClient.challenge(in: response)) ?? nil {
      return challenge.kind == .token ? .token : nil
    }
    switch response.value(of: GateField.refusal) {
    case "token": return .token
    case "clock": return .clock
    case "proof": return .proof
    case "refused": return .refused
    default: return nil
    }
  }

  /// Whether a text has the form of a ticket: 256 characters of base64url.
  private static func isTicket(_ text: String) -> Bool {
    text.utf8.count == 256 && Base64.decode(text, .url)?.first == 0x1B
  }

  // MARK: Forms

  func head(of request: some ProvableRequest) throws(GateError) -> RequestHead {
    do throws(RequestFormatError) {
      var head = try RequestHead(method: request.method, url: request.url)
      for name in StandardForm.whenPresent + ["content-length", "transfer-encoding", "host"] {
        for value in request.values(of: name) { try head.fields.append(name, value) }
      }
      return head
    } catch {
      if case .badMethod(let method) = error { throw .malformedMethod(Observation.line(method)) }
      throw .malformedRequest(reason: "\(error)")
    }
  }

  /// The host of a request as the URL has it, with its port if that is not the scheme's own, and without.
  func hosts(of request: some ProvableRequest) -> (authority: String, host: String)? {
    (try? head(of: request)).map { head in
      guard head.authority.first != "[" else { return (head.authority, head.authority) }
      return (head.authority, String(head.authority.prefix { $0 != ":" }))
    }
  }

  /// The scheme for a request that the app gives no URL for: that of the last answer of this host. Before the first
  /// one it is `https`, or `http` where plain HTTP to this machine is allowed and the host is this machine.
  var scheme: RequestHead.Scheme {
    let isPlain = state.withLock { $0.isPlain }
    return isPlain ?? (options.allowsPlainLoopback && Self.isThisMachine(api.text)) ? .http : .https
  }

  private static func isThisMachine(_ authority: String) -> Bool {
    let host = authority.prefix { $0 != ":" }
    return host == "localhost" || host == "127.0.0.1"
  }

  /// Whether a proof may travel there: over TLS, or not leave this machine.
  func isAllowed(_ head: RequestHead) -> Bool {
    if head.scheme == .https { return true }
    return options.allowsPlainLoopback && Self.isThisMachine(head.authority)
  }

  private func digest(
    of head: RequestHead, _ request: some ProvableRequest
  ) throws(GateError) -> RequestDigest {
    let authorizations = head.fields.values(of: "authorization")
    guard authorizations.count <= 1 else {
      throw .malformedRequest(reason: "the field Authorization is given twice.")
    }
    do throws(ProofError) {
      return try RequestDigest(
        method: head.method, scheme: head.scheme.rawValue, authority: head.authority,
        target: head.target, body: Digest(hashing: request.body ?? []),
        authorization: authorizations.first)
    } catch {
      throw .malformedRequest(reason: "\(error)")
    }
  }

  private func signStandard(
    _ request: inout some ProvableRequest, _ head: RequestHead, _ keyring: GateKeyring,
    _ held: GateState.Held
  ) throws(GateError) {
    var head = head
    let now = clock.uptime()
    let (created, account, word) = try standardFields(held, at: now)
    let hasDigest = request.body != nil || !(head.method == "GET" || head.method == "HEAD")
    let body = hasDigest ? ContentDigest(Digest(hashing: request.body ?? [])) : nil
    var added = ["signature-input", "signature"]
    if let account {
      request.set(StandardForm.accountField, to: account)
      do { try head.fields.set(StandardForm.accountField, account) } catch {
        throw .malformedRequest(reason: "\(error)")
      }
    }
    do throws(RequestRefusal) {
      let nonce = word.map { $0 + "." } ?? ""
      try keyring.keys.withRequestKey { key throws(RequestRefusal) in
        try StandardForm().sign(
          &head, body: body, with: key, keyID: Base64.encode(keyring.keys.handle.bytes, .url),
          created: created, nonce: nonce + Base64.encode(Salt.random().bytes, .url))
      }
    } catch {
      throw .malformedRequest(reason: "\(error)")
    }
    if hasDigest { added.append("content-digest") }
    for name in added { request.set(name, to: head.fields.values(of: name).first) }
  }

  /// The moment of a proof, the value of the account's field, and the gate's newest word on the time.
  private func standardFields(
    _ held: GateState.Held, at now: Duration
  ) throws(GateError) -> (UnixTime, String?, String?) {
    let clock = clock
    do throws(ProofError) {
      return try state.withLock { state -> Result<(UnixTime, String?, String?), ProofError> in
        do throws(ProofError) {
          let account = try state.digest(of: nil, under: held.admitted.admission.accountKey)
          let text = account.map { "\($0.1)." + Base64.encode($0.0.bytes, .url) }
          let word = state.word.flatMap { now < $0.end ? $0.text : nil }
          return .success(
            (state.time(clock, at: now), text, word ?? state.beacon?.header))
        } catch {
          return .failure(error)
        }
      }.get()
    } catch {
      throw .malformedRequest(reason: "\(error)")
    }
  }
}
