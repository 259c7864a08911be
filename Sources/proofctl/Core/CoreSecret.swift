// SPDX-License-Identifier: Apache-2.0

import ProofJOSE

extension JOSESecret {
  /// Copies a secret that another library lends.
  init(copying bytes: RawSpan) {
    self.init(count: bytes.byteCount) { target in
      for offset in bytes.byteOffsets {
        target[offset] = unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      }
    }
  }
}
