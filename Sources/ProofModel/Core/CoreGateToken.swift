// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Gate tokens: sealed for tests and services, and read by a gate.
extension CoreGate {
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
    guard grant.issued.seconds > 0 else {
      throw refuse("time of issue", "\(grant.issued)", "Unix seconds from 1")
    }
    let life = grant.notAfter.unsigned.subtractingReportingOverflow(grant.issued.unsigned)
    guard !life.overflow, life.partialValue <= GateGrant.lifeMax else {
      throw refuse("end", "\(grant.notAfter)", "from the issue to 24 hours later")
    }
    guard (1...grant.issued.seconds).contains(grant.firstSeen.seconds) else {
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
      unsafe token.pointee.issued = grant.issued.unsigned
      unsafe token.pointee.not_after = grant.notAfter.unsigned
      unsafe token.pointee.first_seen = grant.firstSeen.unsigned
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

  static func grant(_ token: UnsafePointer<pfc_gate_token>) -> GateGrant {
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
      issued: UnixTime(clamping: unsafe token.pointee.issued),
      notAfter: UnixTime(clamping: unsafe token.pointee.not_after),
      firstSeen: UnixTime(clamping: unsafe token.pointee.first_seen),
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
}
