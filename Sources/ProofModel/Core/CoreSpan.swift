// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

extension RawSpan {
  /// One byte, checked.
  subscript(byte offset: Int) -> UInt8 {
    precondition(byteOffsets.contains(offset))
    return unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }

  /// Whether the bytes are equal, in time that depends on their counts alone, without a copy.
  func equals(_ bytes: Span<UInt8>) -> Bool {
    guard byteCount == bytes.count else { return false }
    return unsafe withUnsafeBytes { mine in
      unsafe bytes.withUnsafeBufferPointer { theirs in
        unsafe pfc_equal(mine.baseAddress, theirs.baseAddress, theirs.count) == 1
      }
    }
  }
}

extension String {
  /// Lends the UTF-8 of the text as C takes it, without a terminator.
  mutating func withCharacters<R>(_ body: (UnsafeBufferPointer<CChar>) -> R) -> R {
    withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { unsafe body($0) }
    }
  }
}
