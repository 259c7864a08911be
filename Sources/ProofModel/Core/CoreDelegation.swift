// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Makes and reads grants (SPEC.md, section 19).
enum CoreDelegation {
  static let byteCount = Int(PFC_GRANT_BYTES)
  static let usesMax = UInt16(PFC_GRANT_USES_MAX)

  /// The bytes, and the tag that ends them.
  static func make(
    _ loan: Delegation.Loan, from lender: Delegation.Lender, _ secrets: CoreSecrets
  ) -> (bytes: [UInt8], tag: Proof) {
    var raw = pfc_grant()
    lender.hardware.storage.copy(to: &raw.hardware_id)
    lender.instance.storage.copy(to: &raw.owner)
    loan.member.storage.copy(to: &raw.member)
    raw.generation = lender.generation
    raw.serial = loan.serial
    raw.classes = loan.classes.rawValue
    raw.uses = loan.uses
    raw.end = loan.end?.unsigned ?? 0
    var result = CoreResult.ok
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
      result = unsafe lender.token.storage.withPointer { digest in
        unsafe secrets.withSecrets { secrets in
          unsafe CoreResult(pfc_grant_create(buffer.baseAddress, &raw, secrets, digest))
        }
      }
      count = byteCount
    }
    guard result == .ok, let tag = try? Proof(Array(bytes.suffix(Proof.byteCount))) else {
      preconditionFailure("the fields of a loan are in their ranges")
    }
    return (bytes, tag)
  }

  static func read(_ bytes: [UInt8]) throws(ProofError) -> (
    hint: [UInt8], owner: InstanceID, generation: UInt32, loan: Delegation.Loan
  ) {
    var raw = pfc_grant()
    let result = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe CoreResult(pfc_grant_read(&raw, bytes.baseAddress, bytes.count))
    }
    try result.orThrow(opening: "delegation", byteCount: bytes.count)
    let hint = unsafe withUnsafeBytes(of: raw.hardware_id) { unsafe Array($0.prefix(4)) }
    let loan = Delegation.Loan(
      member: TokenDigest(storage: InlineBytes(tuple: raw.member)), serial: raw.serial,
      classes: CommandClasses(rawValue: raw.classes), uses: raw.uses,
      end: raw.classes == 0 ? nil : UnixTime(clamping: raw.end))
    return (hint, InstanceID(storage: InlineBytes(tuple: raw.owner)), raw.generation, loan)
  }

  static func check(
    _ bytes: [UInt8], _ secrets: CoreSecrets, _ token: TokenDigest
  ) throws(ProofError) {
    let result = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe token.storage.withPointer { digest in
        unsafe secrets.withSecrets { secrets in
          unsafe CoreResult(pfc_grant_check(bytes.baseAddress, secrets, digest))
        }
      }
    }
    try result.orThrow(opening: "delegation", byteCount: bytes.count)
  }

  static func digest(of bytes: [UInt8]) -> ProofNonce {
    ProofNonce(
      storage: unsafe InlineBytes { digest in
        unsafe bytes.withUnsafeBufferPointer { unsafe pfc_grant_digest(digest, $0.baseAddress) }
      })
  }
}
