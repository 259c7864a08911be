// SPDX-License-Identifier: Apache-2.0

extension JOSESecret {
  /// Makes a secret with a copy of bytes that another library lends.
  package init(copying bytes: RawSpan) {
    self.init(count: bytes.byteCount) { target in
      for offset in bytes.byteOffsets {
        target[offset] = unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      }
    }
  }
}
