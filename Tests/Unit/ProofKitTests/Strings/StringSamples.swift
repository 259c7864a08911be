// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Keys that a test can tell apart by their number.
func stringKey(_ number: UInt8) throws -> StringKey {
  try StringKey(SecretBytes(copying: [UInt8](repeating: number, count: 32).span))
}

func secret(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8).span) }

func text(of secret: borrowing SecretBytes) -> String {
  secret.withBytes { bytes in
    let copied = bytes.byteOffsets.map { offset in
      unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
    return String(decoding: copied, as: UTF8.self)
  }
}
