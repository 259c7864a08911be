// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

extension JOSESecret {
  /// HMAC-SHA-256 of a label of 16 characters and bytes, under this key. The core computes it, with
  /// the processor's instructions where there are any.
  borrowing func mac(_ label: String, _ bytes: [UInt8]) -> [UInt8] {
    let message = Array(label.utf8) + bytes
    return withBytes { key in unsafe CoreCrypto.hmac(key: key.bytes, message.span).bytes }
  }
}
