// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// A `pfc_hardware`, which holds a secret key, in one block at a fixed address.
final class CoreHardware: Sendable {
  let publicKey: HardwarePublicKey
  private let secret: CoreSecret<pfc_hardware>

  init(
    id: HardwareID, secretKey: borrowing SecretBytes, mode: Mode, issuers: [IssuerPublicKey],
    allowsLiteralTokens: Bool, challengeSeconds: UInt16, factory: CoreFactorySecret?
  ) throws(ProofError) {
    try secretKey.checkCount(Int(PFC_SECRET_KEY_BYTES), of: "hardware secret key")
    let isZero = unsafe secretKey.withPointer { unsafe pfc_is_zero($0, Int(PFC_SECRET_KEY_BYTES)) }
    guard isZero == 0 else { throw .allZeros(of: "hardware secret key") }
    let publicKey = HardwarePublicKey(
      storage: unsafe InlineBytes { publicKey in
        unsafe secretKey.withPointer { unsafe pfc_public_key(publicKey, $0) }
      })
    secret = unsafe CoreSecret { hardware in
      unsafe id.storage.copy(to: &hardware.pointee.id)
      unsafe publicKey.storage.copy(to: &hardware.pointee.public_key)
      unsafe secretKey.copy(to: &hardware.pointee.secret_key)
      unsafe hardware.pointee.mode = mode.rawValue
      unsafe hardware.pointee.allow_literal = allowsLiteralTokens ? 1 : 0
      unsafe hardware.pointee.issuer_count = UInt8(issuers.count)
      unsafe hardware.pointee.challenge_seconds = challengeSeconds
      if let factory {
        unsafe hardware.pointee.has_factory_secret = 1
        unsafe factory.withPointer { secret in
          unsafe withUnsafeMutableBytes(of: &hardware.pointee.factory_secret) { target in
            unsafe target.baseAddress!.copyMemory(
              from: secret, byteCount: CoreFactorySecret.byteCount)
          }
        }
      }
      unsafe withUnsafeMutableBytes(of: &hardware.pointee.issuers) { bytes in
        for (index, issuer) in issuers.enumerated() {
          var entry = pfc_issuer()
          issuer.storage.copy(to: &entry.public_key)
          unsafe bytes.storeBytes(
            of: entry, toByteOffset: index * MemoryLayout<pfc_issuer>.stride, as: pfc_issuer.self)
        }
      }
    }
    self.publicKey = publicKey
    unsafe secret.withPointer { unsafe CoreResult(pfc_hardware_check($0)) }.mustBeOK()
  }

  func withHardware<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<pfc_hardware>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withPointer(body)
  }
}
