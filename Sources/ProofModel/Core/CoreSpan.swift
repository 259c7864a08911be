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

extension Array where Element == UInt8 {
  /// The bytes of a span.
  package init(copying span: Span<UInt8>) {
    self = unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
  }

  /// Adds the bytes of a span.
  mutating func append(_ span: Span<UInt8>) {
    unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
  }

  /// Adds the bytes of a span.
  mutating func append(_ span: RawSpan) {
    unsafe span.withUnsafeBytes { unsafe append(contentsOf: $0) }
  }
}

extension String {
  /// ASCII, two characters for each byte.
  init(pairsFor bytes: Span<UInt8>, _ pair: (UInt8) -> (UInt8, UInt8)) {
    self = unsafe String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
      for index in bytes.indices {
        unsafe (text[2 * index], text[2 * index + 1]) = pair(bytes[index])
      }
      return 2 * bytes.count
    }
  }

  /// Lends the UTF-8 of the text as C takes it, without a terminator.
  mutating func withCharacters<R>(_ body: (UnsafeBufferPointer<CChar>) -> R) -> R {
    withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { unsafe body($0) }
    }
  }
}
