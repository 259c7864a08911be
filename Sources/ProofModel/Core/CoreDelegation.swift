// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Makes and reads grants (SPEC.md, section 19).
enum CoreDelegation {
  static let byteCount = Int(PFC_GRANT_BYTES)
  static let usesMax = UInt16(PFC_GRANT_USES_MAX)

  /// The fields of a grant, as the core has them.
  struct Fields {
    var hint: [UInt8] = []
    var owner: InstanceID
    var member: TokenDigest
    var generation: UInt32
    var serial: UInt32
    var classes: CommandClasses
    var uses: UInt16
    var end: UInt64
  }

  static func make(
    _ fields: Fields, at hardware: HardwareID, _ secrets: CoreSecrets, _ token: TokenDigest
  ) throws(ProofError) -> [UInt8] {
    var raw = pfc_grant()
    hardware.storage.copy(to: &raw.hardware_id)
    fields.owner.storage.copy(to: &raw.owner)
    fields.member.storage.copy(to: &raw.member)
    raw.generation = fields.generation
    raw.serial = fields.serial
    raw.classes = fields.classes.rawValue
    raw.uses = fields.uses
    raw.end = fields.end
    var result = CoreResult.ok
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
      result = unsafe token.storage.withPointer { digest in
        unsafe secrets.withSecrets { secrets in
          unsafe CoreResult(pfc_grant_create(buffer.baseAddress, &raw, secrets, digest))
        }
      }
      count = byteCount
    }
    try result.orThrow(opening: "delegation", byteCount: byteCount)
    return bytes
  }

  static func read(_ bytes: [UInt8]) throws(ProofError) -> Fields {
    var raw = pfc_grant()
    let result = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe CoreResult(pfc_grant_read(&raw, bytes.baseAddress, bytes.count))
    }
    try result.orThrow(opening: "delegation", byteCount: bytes.count)
    let hint = unsafe withUnsafeBytes(of: raw.hardware_id) { unsafe Array($0.prefix(4)) }
    return Fields(
      hint: hint, owner: InstanceID(storage: InlineBytes(tuple: raw.owner)),
      member: TokenDigest(storage: InlineBytes(tuple: raw.member)),
      generation: raw.generation, serial: raw.serial,
      classes: CommandClasses(rawValue: raw.classes), uses: raw.uses, end: raw.end)
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
