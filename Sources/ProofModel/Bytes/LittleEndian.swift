// SPDX-License-Identifier: Apache-2.0

// Integers of the layouts of docs/SPEC.md: little-endian. Inlinable, because each gate request reads several: a generic
// call into another module took a twentieth of a judgement.
extension FixedWidthInteger {
  /// The bytes, the lowest first.
  @inlinable package var littleEndianBytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.bitWidth / 8)
    var rest = self
    for _ in 0..<Self.bitWidth / 8 {
      bytes.append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
    return bytes
  }

  /// Reads bytes, the lowest first. The caller has checked that the integer has room for them.
  @inlinable package init(littleEndianBytes bytes: some BidirectionalCollection<UInt8>) {
    precondition(bytes.count * 8 <= Self.bitWidth, "The bytes of one integer.")
    var value: Self = 0
    for byte in bytes.reversed() { value = value << 8 | Self(truncatingIfNeeded: byte) }
    self = value
  }
}
