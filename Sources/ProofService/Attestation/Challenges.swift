internal import ProofJOSE
internal import ProofModel

// The first half: a question is answered by a challenge.

/// The part of a question that the service needs when the report comes.
struct SaltNote: Sendable {
  let keyID: KeyID
  let device: DeviceID
  let purpose: AttestationPurpose
  let challenge: AttestationChallenge
  /// The digest of the secret that proves a key in hardware, and that key.
  let credential: Credential?
  /// The gate whose line the challenge's generation is of; nil for the device's own.
  let gate: GateID?
  /// The facts that the app withholds.
  let withheld: CollectionMode

  struct Credential: Sendable, Hashable {
    let secret: Digest
    let point: InstallationPoint

    /// Whether a report contains the secret of the credential for its key.
    func isProved(by claim: InstallationClaim) -> Bool {
      guard let secret = claim.secret, claim.point == point else { return false }
      return CoreSodium.areEqual(Digest(hashing: secret.bytes).bytes, self.secret.bytes)
    }
  }

  init(
    _ question: AttestationQuestion, _ challenge: AttestationChallenge, _ credential: Credential?,
    at gate: GateID?
  ) {
    self.gate = gate
    self.credential = credential
    withheld = question.withheld
    keyID = question.keyID
    device = question.device
    purpose = question.purpose
    self.challenge = challenge
  }

  init?(_ bytes: [UInt8]) {
    guard bytes.count > Self.fixed, let keyID = try? KeyID(Array(bytes[0..<8])),
      let device = try? DeviceID(Array(bytes[8..<24])),
      let purpose = AttestationPurpose(rawValue: bytes[24]),
      let rest = Self.split(bytes), let challenge = try? AttestationChallenge(rest.challenge)
    else { return nil }
    credential = rest.credential
    gate = rest.gate
    withheld = CollectionMode(rawValue: bytes[Self.fixed - 1] >> 2)
    self.keyID = keyID
    self.device = device
    self.purpose = purpose
    self.challenge = challenge
  }

  /// Key id, device, purpose, and what follows: bit 0 a credential, bit 1 a gate. Bits 2 to 4 are the
  /// collection mode.
  private static let fixed = 26

  private static func split(
    _ bytes: [UInt8]
  ) -> (credential: Credential?, gate: GateID?, challenge: [UInt8])? {
    var rest = bytes[fixed...]
    func take<Value: FixedBytes>(_: Value.Type) -> Value? {
      guard rest.count >= Value.byteCount else { return nil }
      defer { rest = rest.dropFirst(Value.byteCount) }
      return try? Value(Array(rest.prefix(Value.byteCount)))
    }
    let parts = bytes[fixed - 1]
    // A note of another version: the device asks again.
    guard parts <= 31 else { return nil }
    var credential: Credential?
    if parts & 1 != 0 {
      guard let secret = take(Digest.self), let point = take(InstallationPoint.self) else {
        return nil
      }
      credential = Credential(secret: secret, point: point)
    }
    var gate: GateID?
    if parts & 2 != 0 {
      guard let id = take(GateID.self) else { return nil }
      gate = id
    }
    return (credential, gate, Array(rest))
  }

  var bytes: [UInt8] {
    let parts: UInt8 =
      (credential == nil ? 0 : 1) | (gate == nil ? 0 : 2) | withheld.rawValue << 2
    var bytes = keyID.bytes + device.bytes + [purpose.rawValue, parts]
    if let credential { bytes += credential.secret.bytes + credential.point.bytes }
    if let gate { bytes += gate.bytes }
    return bytes + challenge.bytes
  }
}

extension AttestationService {
  func challenge(_ request: HTTPRequest) throws(Refusal) -> HTTPResponse {
    let question: AttestationQuestion
    do {
      question = try AttestationQuestion(request.body)
    } catch {
      throw .malformed(error.description)
    }
    let (snapshot, known) = try glance(at: question.device)
    let now = clock.now
    try limitAddress(request, snapshot)
    guard question.account == account.name else { throw .unknownAccount }
    guard let build = snapshot.builds[question.keyID], !build.build.isRevoked else {
      throw .unknownKey
    }
    // A question is not authenticated, so count a device's questions for each network: otherwise an
    // attacker elsewhere who knows a device's id could use up its rate.
    let wait = devices.wait(
      of: question.device.bytes + Array(IPAddress.network(of: request.peer).utf8),
      rate: snapshot.policy.deviceRate, at: now)
    if let wait { throw .tooMany(retryAfter: wait) }

    let gate = snapshot.gate(of: question)
    // A device that was dropped must not begin again below what backends and gates know of it.
    let before: UInt32
    if let gate {
      before = try store { (store) throws(StoreError) in
        if let line = try store.generation(of: question.device, at: gate) { return line }
        return try store.gateGenerationFloor()
      }
    } else if let known {
      before = known.generation
    } else {
      before = try store { (store) throws(StoreError) in try store.generationFloor() }
    }
    // One device cannot reach 2^32 measurements; the highest number is not a generation.
    let generation = min(before, .max - 2) + 1
    let draft: BaselineDraft
    do {
      draft = try BaselineDraft(
        salt: makeSalt(),
        sources: SourcesAsked.sources(
          for: question.purpose, without: snapshot.leftOut(of: build.build),
          withheld: question.withheld),
        policy: snapshot.policy.measurement, generation: generation,
        limitLog2: UInt8(snapshot.policy.limitLog2))
    } catch {
      preconditionFailure("The policy's settings are in range. \(error)")
    }
    let (demand, credential) = keyDemand(of: question, known, snapshot.policy, at: now.seconds)
    let challenge = AttestationChallenge(
      draft, lifetime: UInt16(snapshot.policy.saltLifetime),
      configSerial: snapshot.configuration.serial, key: demand)
    let pending = PendingSalt(
      draft.salt, expiry: now.seconds + Int64(snapshot.policy.saltLifetime),
      note: SaltNote(
        question, AttestationChallenge(draft, lifetime: challenge.lifetime, configSerial: 0),
        credential, at: gate
      ).bytes)
    try store { (store) throws(StoreError) in
      let dropped = try sweeper.sweep(store, under: snapshot.policy, at: now.seconds)
      metrics.count(.devicesDropped, by: dropped)
      try store.keep(pending)
    }
    metrics.count(.challenges)
    return Self.binary(challenge.bytes)
  }
}

extension Snapshot {
  /// The gate that a question is about; nil for another purpose, and for an API without gate: the answer to the
  /// report says so.
  fileprivate func gate(of question: AttestationQuestion) -> GateID? {
    guard question.purpose == .gate else { return nil }
    return apis[question.host.lowercased()]?.gate.flatMap { gates[$0] }?.gate.id
  }
}

/// Drops expired salts, at most once in ten seconds, and devices not seen for long, at most once a
/// minute, so that the store does not grow.
final class Sweeper: Sendable {
  private let salts = CoreLock<Int64>(.min)
  private let devices = CoreLock<Int64>(.min)

  /// The most devices dropped at once, because a request waits for it.
  static let devicesMax = 1_000

  /// - Returns: The number of devices that were dropped.
  func sweep(
    _ store: any Store, under policy: Policy, at now: Int64
  ) throws(StoreError) -> Int {
    if Self.isDue(salts, every: 10, now) { try store.dropSalts(expiredBefore: now) }
    guard policy.deviceRetention > 0, Self.isDue(devices, every: 60, now) else { return 0 }
    // Keep the rows that reveal a clone at least for the clone window.
    let seconds = max(Int64(policy.deviceRetention) * 86_400, Int64(policy.cloneWindow))
    return try store.dropDevices(lastSeenBefore: now - seconds, atMost: Self.devicesMax)
  }

  private static func isDue(_ next: CoreLock<Int64>, every seconds: Int64, _ now: Int64) -> Bool {
    next.withLock { next in
      // Continue to sweep even if the clock was set back.
      guard now >= next || now < next - seconds else { return false }
      next = now + seconds
      return true
    }
  }
}
