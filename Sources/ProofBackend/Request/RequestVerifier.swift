// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel
internal import ProofRequest

/// Checks requests of an API: opens gate tokens, checks proofs, and ensures that each proof counts
/// once.
///
/// One object serves all threads. It calls no service: its input is the gate's identity and the
/// tokens that apps send. Nodes of one API share the identity, the own secret and the replay store.
public final class RequestVerifier: Sendable {
  /// A verifier's settings.
  public struct Settings: Sendable {
    /// Where the time comes from.
    public var clock = UnixClock.system
    /// Seconds by which clocks of the nodes may differ.
    public var skew: UInt32 = 30
    /// How many installations stay known while they send requests in turn; at most twice as many are kept.
    /// One takes about 640 bytes: 64 MB for 100,000.
    public var capacity = 100_000
    /// The budget of openings.
    public var openings = OpeningBudget()

    /// The settings without changes.
    public init() {}
  }

  private let gate: GateIdentity
  private let replay: any ReplayStore
  private let settings: Settings
  private let events: [EventVerifier]
  private let clock: GateClock
  private let memory: ReplayMemory
  private let beacons: BeaconClock
  private let nonces: GateNonce
  private let admissions: Admissions<Admission>
  private let openings: Openings
  private let pool = SecretPool(for: .requests)
  private let revoked = CoreLock<[InstanceID: UInt32]>([:])

  /// A verifier.
  ///
  /// - Parameters:
  ///   - gate: The gate's identity, and the issuers that it trusts.
  ///   - own: The gate's own keys.
  ///   - replay: Remembers proofs that were used; the nodes of one API share it.
  ///   - events: Redeemers in this process that learn the keys of their audience from the same tokens.
  ///   - settings: Clock and bounds.
  /// - Throws: ``/ProofModel/ProofError/outOfRange(field:value:allowed:)`` for the own keys of another gate;
  ///   ``ReplayStoreFailure``.
  public init(
    _ gate: GateIdentity, own: GateOwnKeys, replay: any ReplayStore,
    events: [EventVerifier] = [], settings: Settings = Settings()
  ) throws {
    guard own.gate == gate.id else {
      throw ProofError.outOfRange(
        field: "gate of the own keys", value: "\(own.gate)", allowed: "\(gate.id)")
    }
    self.gate = gate
    self.replay = replay
    self.events = events
    self.settings = settings
    memory = try replay.begin(at: settings.clock.now)
    clock = GateClock(settings.clock, from: memory.highest)
    beacons = BeaconClock(own.beacons)
    nonces = GateNonce(own[.nonce])
    admissions = Admissions(capacity: settings.capacity)
    openings = Openings(settings.openings)
  }

  /// Takes the list of revocations of the gate's configuration.
  ///
  /// - Parameter list: Instances, each with the last generation that is revoked.
  public func revoke(_ list: [InstanceID: UInt32]) { revoked.withLock { $0 = list } }

  /// How many installations are known.
  public var admissionCount: Int { admissions.count }

  /// Judges a request.
  ///
  /// - Parameters:
  ///   - request: The request as it was received.
  ///   - route: The rules of its route.
  /// - Returns: The verdict or the reason, and the header fields of the answer.
  public func judge(_ request: ReceivedRequest, on route: RequestRoute) -> RequestJudgement {
    let now = clock.now
    let result: Result<RequestVerdict, RejectedRequest>
    var opened: GateGrant?
    do throws(RejectedRequest) {
      result = .success(try verdict(on: request, route, now, &opened))
    } catch {
      result = .failure(error)
    }
    var fields = [(name: "Proof-Time", value: beacons.header(at: now))]
    if case .failure(let rejection) = result, let told = rejection.told {
      fields.append((name: "Proof-Refusal", value: told.text))
      if told == .clock { fields.append((name: "Proof-Nonce", value: nonces.text(at: now))) }
    }
    var judgement = RequestJudgement(result: result, fields: fields)
    // A ticket is for a client that has shown the token's keys.
    if case .success = result { judgement.opened = opened }
    return judgement
  }

  // MARK: Steps

  private func verdict(
    on request: ReceivedRequest, _ route: RequestRoute, _ now: UnixTime, _ opened: inout GateGrant?
  ) throws(RejectedRequest) -> RequestVerdict {
    let head = try Self.head(of: request, route)
    let form = try Self.form(of: head, route)
    let proof =
      form == .standard
      ? try standard(head, request, route, now, &opened)
      : try compact(head, form, request, route, now, &opened)
    let isSigned = try checkInstallation(head, request, route, proof)
    // Use the proof up last, so that a refused request uses up nothing.
    let isReplayChecked = try use(proof, route, head, now)
    if let count = proof.count {
      admissions.note(proof.admission.facts.handle, start: count.start, count: count.count)
    }
    return RequestVerdict(
      facts: proof.admission.facts, form: form, created: proof.created,
      isAnchored: proof.isAnchored, measured: proof.measured, isYoung: proof.isYoung,
      body: proof.body, isBodyChecked: request.body != nil, isReplayChecked: isReplayChecked,
      isSignedByInstallation: isSigned)
  }

  private static func head(
    of request: ReceivedRequest, _ route: RequestRoute
  ) throws(RejectedRequest) -> RequestHead {
    // Scheme and authority are the route's, whatever the request says.
    if let head = request.head, head.scheme == route.scheme, head.authority == route.authority {
      return head
    }
    do throws(RequestFormatError) {
      return try RequestHead(
        method: request.method, scheme: route.scheme, authority: route.authority,
        target: request.target, fields: request.fields)
    } catch {
      throw .format(error)
    }
  }

  /// A proof whose signature or tag is right, and which is due.
  private struct Checked {
    let admission: Admission
    let key: ReplayKey
    let created: UnixTime
    /// The last second in which a node may accept it.
    let lastMoment: UnixTime
    let isAnchored: Bool
    let body: Digest?
    var measured: UInt8?
    var isYoung: Bool?
    var count: (start: UInt32, count: UInt32)?
  }

  /// The one proof that the request has, of a form that the route takes.
  private static func form(
    of head: RequestHead, _ route: RequestRoute
  ) throws(RejectedRequest) -> RequestForms {
    let standard = head.fields.count(of: "signature-input") > 0
    let compact = head.fields.count(of: route.fields.compact)
    guard compact <= 1 else { throw .request(.repeatedField) }
    let takesCompact = !route.forms.isDisjoint(with: [.compact, .bodyOnly])
    if compact == 1, takesCompact {
      guard !standard || !route.forms.contains(.standard) || route.needsInstallationKey else {
        throw .request(.severalSignatures)
      }
      return route.forms.contains(.compact) ? .compact : .bodyOnly
    }
    guard standard, route.forms.contains(.standard) else { throw .request(.noSignature) }
    return .standard
  }

  private func standard(
    _ head: RequestHead, _ request: ReceivedRequest, _ route: RequestRoute, _ now: UnixTime,
    _ opened: inout GateGrant?
  ) throws(RejectedRequest) -> Checked {
    let proof: StandardProof
    do throws(RequestRefusal) {
      proof = try StandardProof(reading: head, form: route.standard)
    } catch {
      throw .request(error)
    }
    guard let name = Base64.decode(proof.keyID, .url), let handle = try? GateHandle(name) else {
      throw .request(.unknownKey)
    }
    let admission = try admission(of: handle, head, request, route, now, &opened)
    guard admission.keys.withRequestKey({ proof.isSigned(with: $0) }) else {
      throw .request(.wrongSignature)
    }
    if let body = request.body {
      guard body == proof.body?.digest ?? Digest(hashing: []) else { throw .request(.otherBody) }
    }
    let moment = try moment(of: proof, route, now)
    // The text that the signer chose, whatever is before its dot: a key of SHA-256 is none of a compact token.
    let text = Array("\(proof.keyID)\n\(proof.nonce)".utf8)
    guard let key = try? ReplayKey(Array(Digest(hashing: text).bytes.prefix(24))) else {
      preconditionFailure("A replay key has 24 bytes.")
    }
    return Checked(
      admission: admission, key: key, created: moment.created,
      lastMoment: max(moment.created, now), isAnchored: moment.isAnchored, body: proof.body?.digest)
  }

  /// Judges the moment of a proof of the standard form: by the gate's word, else by `created`.
  private func moment(
    of proof: StandardProof, _ route: RequestRoute, _ now: UnixTime
  ) throws(RejectedRequest) -> (created: UnixTime, isAnchored: Bool) {
    let word = proof.nonce.split(separator: ".", maxSplits: 1).first ?? ""
    if let nonce = nonces.read(word), nonce.time + GateNonce.seconds >= now {
      let start = GateStart(memory, window: route.window)
      guard nonce.isOfThisStart || !start.mayHaveCounted(nonce.time) else {
        throw .request(.stale)
      }
      return (nonce.time, true)
    }
    let created = proof.created
    guard created >= 0 else { throw .request(.stale) }
    if created - now > route.window { throw .request(.ahead) }
    if now - created > route.window { throw .request(.stale) }
    if let expires = proof.expires, expires < now { throw .request(.expired) }
    let isAnchored = beacons.isValid(word, at: now)
    guard isAnchored || route.unanchored != .refused else { throw .gate(.unanchored) }
    try checkStart(created, route)
    return (created, isAnchored)
  }

  private func compact(
    _ head: RequestHead, _ form: RequestForms, _ request: ReceivedRequest, _ route: RequestRoute,
    _ now: UnixTime, _ opened: inout GateGrant?
  ) throws(RejectedRequest) -> Checked {
    let (subject, digest) = try subject(head, form, request, route)
    let text = head.fields.first(route.fields.compact) ?? ""
    let found = try Self.gate { () throws(GateRefusal) in
      try CompactToken.head(of: text, as: subject.kind)
    }
    let admission = try admission(of: found.handle, head, request, route, now, &opened)
    let token: CompactToken
    if let digest, let field = route.fields.digest {
      token = try Self.checked(
        text, over: digest, account: request.account, head, field: field, with: admission.compact)
    } else {
      token = try Self.gate { () throws(GateRefusal) in
        try CompactToken(checking: text, for: subject, with: admission.compact)
      }
    }
    let newest = admissions.find(token.handle, start: token.start)?.newest ?? 0
    let passes =
      route.unanchored == .passes || route.unanchored == .passesForSafeMethods && head.isSafe
    let valid = beacons.valid(at: now)
    try Self.gate { () throws(GateRefusal) in
      try token.judge(
        by: CompactToken.Rules(
          now: now, window: route.window, newest: newest, measuredMax: route.measuredMax,
          beacons: passes ? nil : valid))
    }
    try checkStart(token.created, route)
    return Checked(
      admission: admission, key: token.replayKey, created: token.created,
      lastMoment: token.created, isAnchored: token.isAnchored(by: valid),
      body: request.body, measured: token.measured, isYoung: token.isYoung,
      count: (token.start, token.count))
  }

  /// The subject of a compact proof. Nothing that a server reads as part of a request is left uncovered in silence.
  private func subject(
    _ head: RequestHead, _ form: RequestForms, _ request: ReceivedRequest, _ route: RequestRoute
  ) throws(RejectedRequest) -> (CompactSubject, RequestDigest?) {
    do throws(RequestRefusal) { try route.standard.checkReading(head) } catch {
      throw .request(error)
    }
    guard head.fields.count(of: "x-http-method-override") == 0 else {
      throw .request(.uncoveredComponent)
    }
    guard let body = request.body else { throw .request(.uncoveredBody) }
    guard form == .compact else { return (.body(body, account: request.account), nil) }
    do throws(ProofError) {
      let digest = try RequestDigest(
        method: head.method, scheme: head.scheme.rawValue, authority: head.authority,
        target: head.target, body: body, authorization: head.fields.first("authorization"))
      return (.request(digest, account: request.account), digest)
    } catch {
      throw .request(.ambiguousTarget)
    }
  }

  private func checkStart(
    _ created: UnixTime, _ route: RequestRoute
  ) throws(RejectedRequest) {
    guard !GateStart(memory, window: route.window).mayHaveCounted(created) else {
      throw .request(.stale)
    }
  }

  private func checkInstallation(
    _ head: RequestHead, _ request: ReceivedRequest, _ route: RequestRoute, _ proof: Checked
  ) throws(RejectedRequest) -> Bool {
    guard route.needsInstallationKey else { return false }
    let name = proof.admission.facts.handle.withBytes { Base64.encode($0, .url) }
    do throws(RequestRefusal) {
      try Self.checkInstallation(head, route.standard, request, name)
    } catch {
      throw .request(error)
    }
    return true
  }

  private func use(
    _ proof: Checked, _ route: RequestRoute, _ head: RequestHead, _ now: UnixTime
  ) throws(RejectedRequest) -> Bool {
    // On no clock that counts does any node accept the proof after this second.
    let expiry = proof.lastMoment + (2 * UInt64(route.window) + UInt64(settings.skew))
    let isNew: Bool
    do throws(ReplayStoreFailure) {
      isNew = try replay.insert(proof.key, until: expiry, at: now)
    } catch {
      guard head.isSafe else { throw .store(error) }
      return false
    }
    guard isNew else { throw .request(.replayed) }
    return true
  }

  /// Runs a step of the gate's.
  private static func gate<R>(
    _ body: () throws(GateRefusal) -> R
  ) throws(RejectedRequest) -> R {
    do throws(GateRefusal) { return try body() } catch { throw .gate(error) }
  }

  // MARK: Admission

  /// The admission of a handle: known, or opened from the token that came along.
  private func admission(
    of handle: GateHandle, _ head: RequestHead, _ request: ReceivedRequest, _ route: RequestRoute,
    _ now: UnixTime, _ opened: inout GateGrant?
  ) throws(RejectedRequest) -> Admission {
    let known = admissions.find(handle).map(\.entry)
    guard let text = head.fields.first(route.fields.token) else {
      guard let known else { throw .request(.unknownKey) }
      return try usable(known, now)
    }
    // Compute only the digest of the text: a token that was opened before is not opened again.
    let digest = Self.prefix(of: Digest(hashing: Array(text.utf8)))
    if let known, known.token == digest { return try usable(known, now) }
    do throws(RejectedRequest) {
      let (admission, grant) = try open(text, digest, request.address, request.hasWorked, now)
      // The token is another installation's, or of another generation than the app's keys.
      guard admission.facts.handle == handle else { throw .gate(.handle) }
      opened = grant
      return try usable(admission, now)
    } catch {
      // A bad token does not affect an installation whose good token was opened before.
      guard let known else { throw error }
      return try usable(known, now)
    }
  }

  private func open(
    _ text: String, _ digest: UInt64, _ address: String?, _ hasWorked: Bool, _ now: UnixTime
  ) throws(RejectedRequest) -> (Admission, GateGrant) {
    let bytes = try token(text)
    guard let taken = openings.take(for: address, hasWorked: hasWorked, at: now) else {
      throw .busy
    }
    let grant = try Self.gate { () throws(GateRefusal) in try gate.open(bytes, at: now) }
    openings.opened(taken, isCharged: false, at: now)
    return (try admit(grant, token: digest), grant)
  }

  /// The bytes of a token whose head is this gate's.
  private func token(_ text: String) throws(RejectedRequest) -> [UInt8] {
    guard text.utf8.count <= GateToken.byteCount * 2, let bytes = Base64.decode(text, .url) else {
      throw .gate(.tokenLength)
    }
    try Self.gate { () throws(GateRefusal) in try gate.checkHead(of: bytes) }
    return bytes
  }

  private func admit(_ grant: GateGrant, token: UInt64) throws(RejectedRequest) -> Admission {
    let keys = grant.secret.keys(in: pool)
    let admission = Admission(GateFacts(grant, handle: keys.handle), keys, token: token)
    try check(admission)
    admissions.put(admission, for: keys.handle)
    for redeemer in events { redeemer.admit(grant) }
    return admission
  }

  /// Admits the installation of a grant that another node of the gate opened, or this one before its start.
  ///
  /// - Parameter grant: The grant of a ticket. The gate has looked at its mode and the floor.
  /// - Returns: The installation's handle.
  /// - Throws: ``RejectedRequest/gate(_:)`` for a grant that is revoked or over.
  @discardableResult
  package func admit(_ grant: GateGrant) throws(RejectedRequest) -> GateHandle {
    guard grant.notAfter >= clock.now else { throw .gate(.tokenExpired) }
    return try admit(grant, token: 0).facts.handle
  }

  /// Opens a gate token that comes without a proof. The budget is charged once for each, also for one that opens.
  ///
  /// - Parameters:
  ///   - text: The token in base64url.
  ///   - address: The client's address.
  ///   - hasWorked: Whether the client solved a puzzle for this opening.
  /// - Returns: The installation's handle.
  /// - Throws: ``RejectedRequest``.
  package func admit(
    token text: String, from address: String?, hasWorked: Bool = false
  ) throws(RejectedRequest) -> GateHandle {
    let now = clock.now
    guard let taken = openings.take(for: address, hasWorked: hasWorked, at: now) else {
      throw .busy
    }
    let bytes = try token(text)
    let grant = try Self.gate { () throws(GateRefusal) in try gate.open(bytes, at: now) }
    openings.opened(taken, isCharged: true, at: now)
    let digest = Self.prefix(of: Digest(hashing: Array(text.utf8)))
    return try usable(try admit(grant, token: digest), now).facts.handle
  }

  /// The gate's word on the time, for `Proof-Nonce`.
  package var nonce: String { nonces.text(at: clock.now) }

  /// Forgets an installation: its next request shows its token or ticket, from which redeemers learn its keys, too.
  package func forget(_ handle: GateHandle) { admissions.remove(handle) }

  /// The keys of an installation that is known; nil for another one.
  package func keys(of handle: GateHandle) -> GateKeys? {
    admissions.find(handle)?.entry.keys
  }

  private func usable(
    _ admission: Admission, _ now: UnixTime
  ) throws(RejectedRequest) -> Admission {
    guard admission.facts.notAfter >= now else {
      admissions.remove(admission.facts.handle)
      throw .gate(.tokenExpired)
    }
    try check(admission)
    return admission
  }

  private func check(_ admission: Admission) throws(RejectedRequest) {
    let through = revoked.withLock { $0[admission.facts.instance] }
    if let through, admission.facts.generation <= through { throw .gate(.tokenRevoked) }
  }

  private static func prefix(of digest: Digest) -> UInt64 {
    digest.withBytes { bytes in (0..<8).reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[$1]) } }
  }
}
