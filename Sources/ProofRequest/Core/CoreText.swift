// SPDX-License-Identifier: Apache-2.0

/// Texts as bytes, without an iterator for each character.
extension Span<UInt8> {
  /// Whether these are the bytes of a text.
  func isText(_ text: StaticString) -> Bool {
    unsafe isEqual(to: text.utf8Start, text.utf8CodeUnitCount)
  }

  /// Whether these are the bytes of a text.
  func isText(_ text: String) -> Bool { isSame(as: text.utf8.span) }

  /// Whether these are the bytes of a component's name, which stands in its line behind a quotation mark and before
  /// another one, a colon and a space.
  func isName(ofLine line: StaticString) -> Bool {
    unsafe isEqual(to: line.utf8Start + 1, line.utf8CodeUnitCount - 4)
  }

  /// Whether both have the same bytes.
  func isSame(as other: Span<UInt8>) -> Bool {
    unsafe other.withUnsafeBufferPointer { other in
      guard let start = other.baseAddress else { return isEmpty }
      return unsafe isEqual(to: start, other.count)
    }
  }

  private func isEqual(to start: UnsafePointer<UInt8>, _ size: Int) -> Bool {
    guard count == size else { return false }
    return unsafe withUnsafeBufferPointer { mine in
      var index = 0
      // Compare words first. The rest, if any, ends a word that overlaps the last one.
      let bytes = unsafe UnsafeRawPointer(start)
      while index + 8 <= size {
        let left = unsafe UnsafeRawPointer(mine.baseAddress!)
          .loadUnaligned(fromByteOffset: index, as: UInt64.self)
        guard unsafe left == bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) else {
          return false
        }
        index += 8
      }
      while index < size {
        guard unsafe mine[index] == start[index] else { return false }
        index += 1
      }
      return true
    }
  }
}

extension [UInt8] {
  /// Whether two ranges of one length have the same bytes.
  func isSame(at one: Range<Int>, and other: Range<Int>) -> Bool {
    span.extracting(one).isSame(as: span.extracting(other))
  }
}
