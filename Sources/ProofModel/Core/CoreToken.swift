// SPDX-License-Identifier: Apache-2.0

internal import CSodium
internal import ProofCore

/// Seals and opens measurement tokens. The plain form, a `pfc_token`, stands in a block that is
/// wiped and lent again when the work ends.
enum CoreToken {
  /// The memory that sealing works on.
  private struct Sealing: BitwiseCopyable {
    var token: pfc_token
    var ephemeral: (UInt64, UInt64, UInt64, UInt64)
  }

  static func seal(
    _ grant: MeasurementGrant, to recipient: HardwareIdentity, with factory: FactorySecret?,
    signedBy issuer: CoreIssuer, ephemeral: borrowing SecretBytes
  ) throws(ProofError) -> MeasurementToken {
    try ephemeral.checkCount(Int(PFC_SECRET_KEY_BYTES), of: "ephemeral key")
    var work = CoreWork<pfc_token>()
    return try unsafe work.withMutablePointer { token throws(ProofError) in
      try unsafe ephemeral.withPointer { ephemeral throws(ProofError) in
        try unsafe seal(grant, to: recipient, with: factory, signedBy: issuer, token, ephemeral)
      }
    }
  }

  /// The same with a fresh ephemeral key, drawn in the block of the work.
  static func seal(
    _ grant: MeasurementGrant, to recipient: HardwareIdentity, with factory: FactorySecret?,
    signedBy issuer: CoreIssuer
  ) throws(ProofError) -> MeasurementToken {
    var work = CoreWork<Sealing>()
    return try unsafe work.withMutablePointer { sealing throws(ProofError) in
      let base = UnsafeMutableRawPointer(sealing)
      let token = unsafe base.assumingMemoryBound(to: pfc_token.self)
      let ephemeral = unsafe (base + MemoryLayout<Sealing>.offset(of: \.ephemeral)!)
      unsafe randombytes_buf(ephemeral, Int(PFC_SECRET_KEY_BYTES))
      return try unsafe seal(
        grant, to: recipient, with: factory, signedBy: issuer, token,
        UnsafePointer(ephemeral.assumingMemoryBound(to: UInt8.self)))
    }
  }

  private static func seal(
    _ grant: MeasurementGrant, to recipient: HardwareIdentity, with factory: FactorySecret?,
    signedBy issuer: CoreIssuer, _ token: UnsafeMutablePointer<pfc_token>,
    _ ephemeral: UnsafePointer<UInt8>
  ) throws(ProofError) -> MeasurementToken {
    if let factory {
      guard factory.hardware == recipient.id else {
        throw .notForThisHardware("factory secret")
      }
      guard grant.version == .two else { throw .wrongMode("measurement grant") }
      guard grant.secrets.form == .diversified else { throw .wrongMode("measurement grant") }
    }
    unsafe fill(token, with: grant)
    var result = CoreResult.ok
    let bytes = unsafe [UInt8](
      unsafeUninitializedCapacity: MeasurementToken.byteCount
    ) { buffer, count in
      result = unsafe recipient.publicKey.storage.withPointer { publicKey in
        unsafe issuer.withSigningKey { signingKey in
          guard let factory else {
            return unsafe CoreResult(
              pfc_token_create(
                buffer.baseAddress, token, publicKey, nil, signingKey, ephemeral))
          }
          return unsafe factory.core.withPointer { secret in
            unsafe CoreResult(
              pfc_token_create(
                buffer.baseAddress, token, publicKey, UnsafePointer(secret), signingKey,
                ephemeral))
          }
        }
      }
      count = MeasurementToken.byteCount
    }
    switch result {
    // Every other field was checked when the grant was made.
    case .argument: throw .allZeros(of: "key or measurement in the grant")
    case .recipient: throw .unusablePublicKey(of: recipient.id)
    default: result.mustBeOK()
    }
    return MeasurementToken(sealed: bytes)
  }

  static func open(
    _ bytes: [UInt8], by hardware: CoreHardware
  ) throws(ProofError) -> MeasurementGrant {
    var work = CoreWork<pfc_token>()
    return try unsafe work.withMutablePointer { token throws(ProofError) in
      let result = unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe hardware.withHardware { hardware in
          unsafe CoreResult(pfc_token_open(token, bytes.baseAddress, bytes.count, hardware))
        }
      }
      try result.orThrow(opening: "measurement token", byteCount: bytes.count)
      return unsafe grant(UnsafePointer(token))
    }
  }

  static func checkHead(_ bytes: [UInt8], by hardware: CoreHardware) throws(ProofError) {
    let result = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe hardware.withHardware { hardware in
        unsafe CoreResult(pfc_token_check_head(bytes.baseAddress, bytes.count, hardware))
      }
    }
    try result.orThrow(opening: "measurement token", byteCount: bytes.count)
  }

  static func digest(of bytes: [UInt8]) -> TokenDigest {
    TokenDigest(
      storage: unsafe InlineBytes { digest in
        unsafe bytes.withUnsafeBufferPointer { unsafe pfc_token_digest(digest, $0.baseAddress) }
      })
  }

  /// Checks the hint, which stands between the version and the sealed part.
  static func hints(at hardware: HardwareID, _ bytes: [UInt8]) -> Bool {
    let hint = bytes[4..<Int(PFC_TOKEN_HEAD_BYTES)]
    return hardware.bytes.starts(with: hint)
  }

  private static func fill(_ token: UnsafeMutablePointer<pfc_token>, with grant: MeasurementGrant) {
    unsafe token.pointee.version = grant.version.rawValue
    unsafe token.pointee.base = grant.version == .two ? grant.base : 0
    unsafe token.pointee.policy =
      (grant.ratchet?.rawValue ?? 0) | (grant.isUpcoming ? UInt8(PFC_POLICY_UPCOMING) : 0)
      | (grant.demandsSealing ? UInt8(PFC_POLICY_SEALED) : 0)
      | (grant.permitsChannel ? UInt8(PFC_POLICY_CHANNEL) : 0)
    unsafe token.pointee.mode = grant.mode.rawValue
    unsafe token.pointee.form = grant.secrets.form.rawValue
    unsafe token.pointee.integrity_classes = grant.integrityClasses.rawValue
    unsafe token.pointee.device_classes = grant.deviceClasses.rawValue
    unsafe token.pointee.delegable_classes = grant.delegableClasses.rawValue
    unsafe token.pointee.attempts = grant.attempts
    unsafe token.pointee.uses = grant.uses.rawValue
    unsafe token.pointee.generation = grant.generation
    unsafe token.pointee.issued = grant.issued.unsigned
    unsafe token.pointee.not_after = grant.notAfter?.unsigned ?? 0
    unsafe grant.hardware.storage.copy(to: &token.pointee.hardware_id)
    unsafe grant.instance.storage.copy(to: &token.pointee.instance_id)
    unsafe grant.secrets.core.withSecrets { secrets in
      unsafe withUnsafeMutableBytes(of: &token.pointee.secrets) { target in
        unsafe target.baseAddress!.copyMemory(
          from: secrets, byteCount: MemoryLayout<pfc_secrets>.size)
      }
    }
  }

  private static func grant(_ token: UnsafePointer<pfc_token>) -> MeasurementGrant {
    let secrets = unsafe CoreSecrets { target in
      unsafe UnsafeMutableRawPointer(target).copyMemory(
        from: UnsafeRawPointer(token) + MemoryLayout<pfc_token>.offset(of: \.secrets)!,
        byteCount: MemoryLayout<pfc_secrets>.size)
    }
    return MeasurementGrant(
      unchecked: HardwareID(storage: unsafe InlineBytes(tuple: token.pointee.hardware_id)),
      instance: InstanceID(storage: unsafe InlineBytes(tuple: token.pointee.instance_id)),
      mode: known(unsafe Mode(rawValue: token.pointee.mode)),
      integrityClasses: unsafe CommandClasses(rawValue: token.pointee.integrity_classes),
      deviceClasses: unsafe CommandClasses(rawValue: token.pointee.device_classes),
      delegableClasses: unsafe CommandClasses(rawValue: token.pointee.delegable_classes),
      attempts: unsafe token.pointee.attempts,
      uses: Uses(rawValue: unsafe token.pointee.uses),
      generation: unsafe token.pointee.generation,
      issued: UnixTime(clamping: unsafe token.pointee.issued),
      notAfter: unsafe token.pointee.not_after == 0
        ? nil : UnixTime(clamping: token.pointee.not_after),
      secrets: HardwareSecrets(
        core: secrets, form: known(unsafe TokenForm(rawValue: token.pointee.form))),
      version: known(unsafe TokenVersion(rawValue: token.pointee.version)),
      base: unsafe token.pointee.base == 0 ? token.pointee.generation : token.pointee.base,
      isUpcoming: unsafe token.pointee.policy & UInt8(PFC_POLICY_UPCOMING) != 0,
      ratchet: unsafe RatchetPolicy(
        rawValue: token.pointee.policy & UInt8(PFC_POLICY_RATCHET)),
      demandsSealing: unsafe token.pointee.policy & UInt8(PFC_POLICY_SEALED) != 0,
      permitsChannel: unsafe token.pointee.policy & UInt8(PFC_POLICY_CHANNEL) != 0,
      issuer: IssuerID(storage: unsafe InlineBytes(tuple: token.pointee.issuer_id)))
  }
}

extension Uses {
  /// The number as the token carries it.
  var rawValue: UInt32 {
    switch self {
    case .limited(let count): count
    case .unlimited: PFC_USES_UNLIMITED
    }
  }

  init(rawValue: UInt32) {
    self = rawValue == PFC_USES_UNLIMITED ? .unlimited : .limited(rawValue)
  }
}
