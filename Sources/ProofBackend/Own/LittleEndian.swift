// Integers of the layouts of docs/SPEC.md: little-endian.
extension FixedWidthInteger {
  /// The bytes, the lowest first.
  package var littleEndianBytes: [UInt8] {
    stride(from: 0, to: Self.bitWidth, by: 8).map { UInt8(truncatingIfNeeded: self >> Self($0)) }
  }

  /// Reads as many bytes as the integer has, the lowest first. The caller has checked their count.
  package init(littleEndianBytes bytes: ArraySlice<UInt8>) {
    precondition(bytes.count * 8 == Self.bitWidth, "The bytes of one integer.")
    self = bytes.reversed().reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
  }
}
