// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Both HMAC states of one key, in one block.
final class CoreProofKey: Sendable {
  private let secret: CoreSecret<pfc_proof_key>

  init(_ key: CoreKey) {
    secret = unsafe key.withLoadedBytes(Self.expand)
  }

  init(_ measurement: CoreMeasurement) {
    secret = unsafe measurement.withDeviceKey(Self.expand)
  }

  init(_ kind: ProofKind, _ secrets: CoreSecrets) {
    secret = unsafe secrets.withKey(of: kind, Self.expand)
  }

  private static func expand(_ key: UnsafePointer<UInt8>) -> CoreSecret<pfc_proof_key> {
    unsafe CoreSecret { unsafe pfc_proof_key_init($0, key) }
  }

  func proof(
    for nonce: ProofNonce, of kind: ProofKind, in measurements: some CoreMeasurements
  ) -> Proof {
    Proof(
      storage: unsafe InlineBytes { proof in
        unsafe secret.withPointer { key in
          unsafe nonce.storage.withPointer { nonce in
            unsafe measurements.withMeasurement(of: kind) { measurement in
              unsafe pfc_proof_make(proof, key, nonce, measurement)
            }
          }
        }
      })
  }

  func check(
    _ proof: Proof, for nonce: ProofNonce, of kind: ProofKind,
    in measurements: some CoreMeasurements
  ) throws(ProofError) {
    let result = unsafe secret.withPointer { key in
      unsafe proof.storage.withPointer { proof in
        unsafe nonce.storage.withPointer { nonce in
          unsafe measurements.withMeasurement(of: kind) { measurement in
            unsafe CoreResult(pfc_proof_check(proof, key, nonce, measurement))
          }
        }
      }
    }
    try result.orThrow(opening: "proof", byteCount: Proof.byteCount)
  }
}

enum CoreNonce {
  static func derive(
    for hardware: HardwareID, answering challenge: Challenge, of kind: ProofKind,
    _ command: Command
  ) -> ProofNonce {
    var raw = challenge.core
    return ProofNonce(
      storage: unsafe InlineBytes { nonce in
        unsafe hardware.storage.withPointer { hardware in
          unsafe command.bytes.withUnsafeBufferPointer { bytes in
            unsafe CoreResult(
              pfc_nonce_derive(
                nonce, hardware, &raw, kind.rawValue, command.commandClass.rawValue,
                bytes.baseAddress, bytes.count)
            ).mustBeOK()
          }
        }
      })
  }

  static func escort(_ nonce: ProofNonce, _ integrityProof: Proof) -> ProofNonce {
    ProofNonce(
      storage: unsafe InlineBytes { escort in
        unsafe nonce.storage.withPointer { nonce in
          unsafe integrityProof.storage.withPointer { unsafe pfc_nonce_escort(escort, nonce, $0) }
        }
      })
  }
}
