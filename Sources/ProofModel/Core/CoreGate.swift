internal import ProofCore

/// A secret that many values share, in one block.
final class CoreSharedSecret: Sendable {
  let bytes: SecretBytes

  init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

/// S, in a block of its own.
final class CoreGateSecret: Sendable {
  private let bytes: SecretBytes

  init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

  convenience init(
    of measurement: CoreMeasurement, for gate: GateID, instance: InstanceID, generation: UInt32,
    with key: CoreKey
  ) {
    self.init(
      unsafe SecretBytes(count: GateSecret.byteCount) { target in
        unsafe key.withKey { key in
          unsafe measurement.withMeasurement(of: .integrity) { integrity in
            unsafe gate.storage.withPointer { gate in
              unsafe instance.storage.withPointer { instance in
                unsafe CoreResult(
                  pfc_gate_secret_make(
                    target.assumingMemoryBound(to: UInt8.self), key, integrity, gate, instance,
                    generation)
                ).mustBeOK()
              }
            }
          }
        }
      })
  }

  static func random() -> CoreGateSecret {
    CoreGateSecret(.random(count: GateSecret.byteCount))
  }

  func keys(_ generation: UInt32, in pool: SecretPool? = nil) -> CoreGateKeys {
    unsafe CoreGateKeys(in: pool) { keys in
      unsafe bytes.withPointer { unsafe pfc_gate_keys_make(keys, $0, generation) }
    }
  }

  func eventKeys(
    _ generation: UInt32, for audience: AudienceID, in pool: SecretPool? = nil
  ) -> CoreCompactKeys {
    unsafe CoreCompactKeys(in: pool) { keys in
      unsafe bytes.withPointer { secret in
        unsafe audience.storage.withPointer { audience in
          unsafe pfc_gate_event_keys_make(keys, secret, generation, audience)
        }
      }
    }
  }

  func copy<Tuple: BitwiseCopyable>(to tuple: inout Tuple) { bytes.copy(to: &tuple) }

  /// Lends S.
  func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    try bytes.withBytes(body)
  }
}

/// A `pfc_gate_keys`, in one block or in the room of a pool.
final class CoreGateKeys: Sendable {
  let handle: GateHandle
  private let secret: CoreHolder<pfc_gate_keys>

  init(in pool: SecretPool?, filledBy fill: (UnsafeMutablePointer<pfc_gate_keys>) -> Void) {
    secret = unsafe CoreHolder(in: pool, filledBy: fill)
    handle = unsafe secret.withPointer { keys in
      GateHandle(storage: unsafe InlineBytes(tuple: keys.pointee.compact.handle))
    }
  }

  func withRequestKey<R: ~Copyable, E: Error>(
    _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withPointer { keys throws(E) in
      let key = unsafe UnsafeRawPointer(keys) + Self.request.offset
      return try body(unsafe RawSpan(_unsafeStart: key, byteCount: Self.request.count))
    }
  }

  /// Lends all keys.
  func withKeys<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<pfc_gate_keys>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withPointer(body)
  }

  /// Lends the keys of the compact form, where they stand.
  fileprivate func withCompact<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<pfc_compact_keys>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withPointer { keys throws(E) in
      let compact = unsafe UnsafeRawPointer(keys) + Self.compactOffset
      return try unsafe body(compact.assumingMemoryBound(to: pfc_compact_keys.self))
    }
  }

  func compact() -> CoreCompactKeys { CoreCompactKeys(of: self) }

  private static let request = Field(\pfc_gate_keys.request)
  private static let compactOffset = MemoryLayout<pfc_gate_keys>.offset(of: \.compact)!
}

/// A `pfc_compact_keys`: in a block of its own, in the room of a pool, or within a `pfc_gate_keys`.
final class CoreCompactKeys: Sendable {
  private enum Place {
    case own(CoreHolder<pfc_compact_keys>)
    case within(CoreGateKeys)
  }

  let handle: GateHandle
  let isForEvents: Bool
  private let place: Place

  init(in pool: SecretPool?, filledBy fill: (UnsafeMutablePointer<pfc_compact_keys>) -> Void) {
    let holder = unsafe CoreHolder(in: pool, filledBy: fill)
    (handle, isForEvents) = unsafe holder.withPointer { keys in
      (
        GateHandle(storage: unsafe InlineBytes(tuple: keys.pointee.handle)),
        unsafe keys.pointee.event == 1
      )
    }
    place = .own(holder)
  }

  fileprivate init(of keys: CoreGateKeys) {
    handle = keys.handle
    isForEvents = false
    place = .within(keys)
  }

  func withKeys<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<pfc_compact_keys>) throws(E) -> R
  ) throws(E) -> R {
    switch place {
    case .own(let holder): try unsafe holder.withPointer(body)
    case .within(let keys): try unsafe keys.withCompact(body)
    }
  }
}

/// A `pfc_gate`, which holds secret keys, in one block at a fixed address.
final class CoreGate: Sendable {
  private let secret: CoreSecret<pfc_gate>

  init(
    id: GateID, keys: [GateIdentity.Key], issuers: [IssuerPublicKey], mode: Mode, floor: UInt64
  ) {
    secret = unsafe CoreSecret { gate in
      unsafe id.storage.copy(to: &gate.pointee.id)
      unsafe gate.pointee.mode = mode.rawValue
      unsafe gate.pointee.key_count = UInt8(keys.count)
      unsafe gate.pointee.issuer_count = UInt8(issuers.count)
      unsafe gate.pointee.floor = floor
      unsafe withUnsafeMutablePointer(to: &gate.pointee.keys) { pointer in
        let entries = unsafe UnsafeMutableRawPointer(pointer)
          .assumingMemoryBound(to: pfc_gate_identity.self)
        for (index, key) in keys.enumerated() {
          unsafe entries[index].number = key.publicKey.number
          unsafe key.publicKey.storage.copy(to: &entries[index].public_key)
          unsafe key.secret.bytes.copy(to: &entries[index].secret_key)
        }
      }
      unsafe withUnsafeMutablePointer(to: &gate.pointee.issuers) { pointer in
        let entries = unsafe UnsafeMutableRawPointer(pointer)
          .assumingMemoryBound(to: pfc_issuer.self)
        for (index, issuer) in issuers.enumerated() {
          unsafe issuer.storage.copy(to: &entries[index].public_key)
        }
      }
    }
    unsafe secret.withPointer { unsafe CoreResult(pfc_gate_check($0)) }.mustBeOK()
  }

  func checkHead(of bytes: [UInt8]) throws(GateRefusal) {
    let refusal = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe secret.withPointer { gate in
        unsafe pfc_gate_token_check_head(bytes.baseAddress, bytes.count, gate)
      }
    }
    try GateRefusal.check(refusal)
  }

  func open(_ bytes: [UInt8], at now: UInt64) throws(GateRefusal) -> GateGrant {
    let plain = try unsafe CoreSecret<pfc_gate_token> { token throws(GateRefusal) in
      let refusal = unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe secret.withPointer { gate in
          unsafe pfc_gate_token_open(token, bytes.baseAddress, bytes.count, gate, now)
        }
      }
      try GateRefusal.check(refusal)
    }
    return unsafe plain.withPointer { unsafe Self.grant($0) }
  }

  // MARK: Tokens

  static func seal(
    _ grant: GateGrant, to recipient: GatePublicKey, signedBy issuer: CoreIssuer,
    ephemeral: borrowing SecretBytes
  ) throws(ProofError) -> GateToken {
    try ephemeral.checkCount(Int(PFC_SECRET_KEY_BYTES), of: "ephemeral key")
    try check(grant)
    let plain = plain(grant)
    var result = CoreResult.ok
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: GateToken.byteCount) {
      buffer, count in
      result = unsafe plain.withPointer { token in
        unsafe recipient.storage.withPointer { publicKey in
          unsafe issuer.withSigningKey { signingKey in
            unsafe ephemeral.withPointer { ephemeral in
              unsafe CoreResult(
                pfc_gate_token_create(
                  buffer.baseAddress, token, recipient.number, publicKey, signingKey, ephemeral))
            }
          }
        }
      }
      count = GateToken.byteCount
    }
    switch result {
    // Every field but the secret was checked, and the core alone sees that one.
    case .argument: throw .allZeros(of: "secret of a gate token")
    case .recipient: throw .unusableGateKey(number: recipient.number)
    default: result.mustBeOK()
    }
    return GateToken(sealed: bytes)
  }

  private static func check(_ grant: GateGrant) throws(ProofError) {
    func refuse(_ field: String, _ value: String, _ allowed: String) -> ProofError {
      .outOfRange(field: field, value: value, allowed: allowed)
    }
    guard grant.issued > 0 else {
      throw refuse("time of issue", "0", "Unix seconds from 1")
    }
    let (end, overflow) = grant.issued.addingReportingOverflow(GateGrant.lifeMax)
    guard grant.notAfter >= grant.issued, overflow || grant.notAfter <= end else {
      throw refuse("end", "\(grant.notAfter)", "from the issue to 24 hours later")
    }
    guard (1...grant.issued).contains(grant.firstSeen) else {
      throw refuse("first sight", "\(grant.firstSeen)", "Unix seconds, 1 to the issue")
    }
    if let code = grant.responseCode {
      let isCode =
        code.utf8.count == Int(PFC_ARC_BYTES)
        && code.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x32...0x37).contains($0) }
      guard isCode else {
        throw refuse("response code", code, "10 characters of A to Z and 2 to 7")
      }
    }
    guard grant.findings.count <= GateFinding.countMax else {
      throw refuse(
        "number of findings", "\(grant.findings.count)", "0 to \(GateFinding.countMax)")
    }
    for (index, finding) in grant.findings.enumerated() {
      guard (1...3).contains(finding.category), finding.number > 0,
        index == 0 || grant.findings[index - 1] < finding
      else {
        throw refuse(
          "finding", "\(finding.category).\(finding.number)",
          "classes 1 to 3 and numbers from 1, in increasing order")
      }
    }
    if let app = grant.app, app.count != GateGrant.appByteCount {
      throw .wrongLength(
        of: "app digest of a gate token",
        expected: GateGrant.appByteCount...GateGrant.appByteCount, actual: app.count)
    }
  }

  private static func plain(_ grant: GateGrant) -> CoreSecret<pfc_gate_token> {
    unsafe CoreSecret { token in
      unsafe token.pointee.mode = grant.mode.rawValue
      let flags: UInt32 =
        (grant.isFailed ? PFC_GATE_FAILED.rawValue : 0)
        | (grant.isForced ? PFC_GATE_FORCED.rawValue : 0)
      unsafe token.pointee.flags = UInt16(flags)
      unsafe token.pointee.generation = grant.secret.generation
      unsafe token.pointee.issued = grant.issued
      unsafe token.pointee.not_after = grant.notAfter
      unsafe token.pointee.first_seen = grant.firstSeen
      unsafe token.pointee.properties = grant.properties
      unsafe grant.gate.storage.copy(to: &token.pointee.gate_id)
      unsafe grant.instance.storage.copy(to: &token.pointee.instance_id)
      unsafe write(Array((grant.responseCode ?? "").utf8), to: &token.pointee.arc)
      unsafe write(
        grant.findings.flatMap { [$0.category, $0.number] }, to: &token.pointee.findings)
      unsafe write(grant.app ?? [], to: &token.pointee.app)
      unsafe grant.secret.core.copy(to: &token.pointee.secret)
    }
  }

  /// Writes bytes over the beginning of a C array.
  private static func write<Tuple: BitwiseCopyable>(_ bytes: [UInt8], to tuple: inout Tuple) {
    unsafe withUnsafeMutableBytes(of: &tuple) { unsafe $0.copyBytes(from: bytes) }
  }

  /// Reads a C array, which Swift sees as a tuple.
  private static func read<Tuple: BitwiseCopyable>(_ tuple: Tuple) -> [UInt8] {
    unsafe withUnsafeBytes(of: tuple) { unsafe Array($0) }
  }

  private static func grant(_ token: UnsafePointer<pfc_gate_token>) -> GateGrant {
    let generation = unsafe token.pointee.generation
    let secret = unsafe SecretBytes(count: GateSecret.byteCount) { target in
      unsafe target.copyMemory(
        from: UnsafeRawPointer(token) + MemoryLayout<pfc_gate_token>.offset(of: \.secret)!,
        byteCount: GateSecret.byteCount)
    }
    var grant = GateGrant(
      for: GateID(storage: unsafe InlineBytes(tuple: token.pointee.gate_id)),
      instance: InstanceID(storage: unsafe InlineBytes(tuple: token.pointee.instance_id)),
      mode: known(unsafe Mode(rawValue: token.pointee.mode)),
      issued: unsafe token.pointee.issued, notAfter: unsafe token.pointee.not_after,
      firstSeen: unsafe token.pointee.first_seen,
      secret: GateSecret(core: CoreGateSecret(secret), generation: generation))
    let flags = unsafe UInt32(token.pointee.flags)
    grant.isFailed = flags & PFC_GATE_FAILED.rawValue != 0
    grant.isForced = flags & PFC_GATE_FORCED.rawValue != 0
    grant.properties = unsafe token.pointee.properties
    let code = unsafe read(token.pointee.arc)
    grant.responseCode = code[0] == 0 ? nil : String(decoding: code, as: UTF8.self)
    let findings = unsafe read(token.pointee.findings)
    for index in stride(from: 0, to: findings.count, by: 2) where findings[index] != 0 {
      grant.findings.append(
        GateFinding(category: findings[index], number: findings[index + 1]))
    }
    let app = unsafe read(token.pointee.app)
    grant.app = app.allSatisfy { $0 == 0 } ? nil : app
    grant.issuer = IssuerID(storage: unsafe InlineBytes(tuple: token.pointee.issuer_id))
    grant.keyNumber = unsafe token.pointee.key_number
    return grant
  }

  static func publicKey(
    of secret: borrowing SecretBytes, number: UInt8
  ) throws(ProofError) -> GatePublicKey {
    try secret.checkCount(Int(PFC_SECRET_KEY_BYTES), of: "gate secret key")
    let isZero = unsafe secret.withPointer { unsafe pfc_is_zero($0, Int(PFC_SECRET_KEY_BYTES)) }
    guard isZero == 0 else { throw .allZeros(of: "gate secret key") }
    return GatePublicKey(
      number: number,
      storage: unsafe InlineBytes { publicKey in
        unsafe secret.withPointer { unsafe pfc_public_key(publicKey, $0) }
      })
  }

  // MARK: Accounts, beacons

  static func account(_ name: inout String, under key: CoreSharedSecret) -> Digest {
    Digest(
      storage: unsafe InlineBytes { digest in
        unsafe key.bytes.withPointer { key in
          unsafe name.withCharacters { name in
            unsafe CoreResult(pfc_gate_account(digest, key, name.baseAddress, name.count))
              .mustBeOK()
          }
        }
      })
  }

  static func beaconKey(
    from secret: borrowing SecretBytes, number: UInt8, of gate: GateID
  ) -> CoreSharedSecret {
    CoreSharedSecret(
      unsafe SecretBytes(count: Int(PFC_GATE_KEY_BYTES)) { target in
        unsafe secret.withPointer { secret in
          unsafe gate.storage.withPointer { gate in
            unsafe pfc_beacon_key(
              target.assumingMemoryBound(to: UInt8.self), secret, gate, number)
          }
        }
      })
  }

  static func beaconMessage(at now: UInt64, under key: CoreSharedSecret) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: Int(PFC_BEACON_MESSAGE_BYTES)) { buffer, count in
      unsafe key.bytes.withPointer { unsafe pfc_beacon_make(buffer.baseAddress, $0, now) }
      count = Int(PFC_BEACON_MESSAGE_BYTES)
    }
  }

  static func beacon(_ message: Span<UInt8>) throws(ProofError) -> Beacon {
    var interval: UInt32 = 0
    var result = CoreResult.ok
    let storage = unsafe InlineBytes<4> { beacon in
      unsafe message.withUnsafeBufferPointer { message in
        result = unsafe CoreResult(
          pfc_beacon_read(beacon, &interval, message.baseAddress, message.count))
      }
    }
    try result.orThrow(opening: "beacon", byteCount: message.count)
    return Beacon(interval: interval, storage: storage)
  }

  static func kind(of refusal: GateRefusal) -> GateRefusal.Kind {
    let told = pfc_refusal_class(pfc_refusal(UInt32(refusal.rawValue)))
    return known(GateRefusal.Kind(rawValue: UInt8(told.rawValue)))
  }
}

extension String {
  /// Lends the UTF-8 of the text as C takes it, without a terminator.
  mutating func withCharacters<R>(_ body: (UnsafeBufferPointer<CChar>) -> R) -> R {
    withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { unsafe body($0) }
    }
  }
}

extension GateRefusal {
  /// Throws the refusal of the core, if it is one.
  static func check(_ refusal: pfc_refusal) throws(GateRefusal) {
    guard refusal != PFC_REFUSAL_NONE else { return }
    throw known(GateRefusal(rawValue: UInt8(refusal.rawValue)))
  }
}

extension Digest {
  /// The digest that stands for none.
  package static let zero = Digest(storage: unsafe InlineBytes { _ in })
}
