// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Computes ratchets.
enum CoreRatchet {
  /// The ratchet that a token begins with.
  static func begin(_ secrets: CoreSecrets, _ token: TokenDigest) -> [UInt8] {
    unsafe make { ratchet in
      unsafe token.storage.withPointer { digest in
        unsafe secrets.withSecrets { unsafe pfc_ratchet_begin(ratchet, $0, digest) }
      }
    }
  }

  /// The ratchets after a command with this nonce.
  static func following(
    _ value: [UInt8], _ nonce: ProofNonce, _ secrets: CoreSecrets
  ) -> Ratchet.Following {
    let next = unsafe make { ratchet in
      unsafe nonce.storage.withPointer { nonce in
        unsafe value.withUnsafeBufferPointer { value in
          unsafe pfc_ratchet_next(ratchet, value.baseAddress, nonce)
        }
      }
    }
    let fork = unsafe make { ratchet in
      unsafe nonce.storage.withPointer { nonce in
        unsafe secrets.withSecrets { unsafe pfc_ratchet_fork(ratchet, $0, nonce) }
      }
    }
    return Ratchet.Following(next: next, fork: fork)
  }

  private static func make(_ fill: (UnsafeMutablePointer<UInt8>) -> Void) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: Ratchet.byteCount) { buffer, initialized in
      unsafe fill(buffer.baseAddress!)
      initialized = Ratchet.byteCount
    }
  }
}
