extension RawSpan {
  /// One byte, checked.
  subscript(byte offset: Int) -> UInt8 {
    precondition(byteOffsets.contains(offset))
    return unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }
}
