// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

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

  static func kind(of refusal: GateRefusal) -> GateRefusal.Kind {
    let told = pfc_refusal_class(pfc_refusal(UInt32(refusal.rawValue)))
    return known(GateRefusal.Kind(rawValue: UInt8(told.rawValue)))
  }
}

extension GateRefusal {
  /// Throws the refusal of the core, if it is one.
  static func check(_ refusal: pfc_refusal) throws(GateRefusal) {
    guard refusal != PFC_REFUSAL_NONE else { return }
    throw known(GateRefusal(rawValue: UInt8(refusal.rawValue)))
  }
}
