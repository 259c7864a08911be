/// Texts as bytes, without an iterator for each character.
extension [UInt8] {
  /// Adds the UTF-8 of a text in one copy.
  mutating func append(text: some StringProtocol) {
    let isCopied: Void? = text.utf8.withContiguousStorageIfAvailable { bytes in
      unsafe append(contentsOf: bytes)
    }
    if isCopied == nil { append(contentsOf: text.utf8) }
  }

  /// Whether this text stands in a range.
  func stands(_ text: String, at range: Range<Int>) -> Bool {
    guard range.count == text.utf8.count else { return false }
    let isEqual = unsafe text.utf8.withContiguousStorageIfAvailable { text in
      var index = 0
      while index < range.count, unsafe text[index] == self[range.lowerBound + index] {
        index += 1
      }
      return index == range.count
    }
    return isEqual ?? self[range].elementsEqual(text.utf8)
  }
}
