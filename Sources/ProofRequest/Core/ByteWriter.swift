// SPDX-License-Identifier: Apache-2.0

/// Writes bytes into memory of a fixed size. It counts past the end, so that the caller learns which size fits.
@safe
struct ByteWriter: ~Copyable {
  private let start: UnsafeMutablePointer<UInt8>?
  private let capacity: Int
  /// How many bytes were written, or had no room.
  private(set) var count = 0

  fileprivate init(_ buffer: UnsafeMutableBufferPointer<UInt8>) {
    unsafe start = buffer.baseAddress
    capacity = buffer.count
  }

  mutating func append(_ byte: UInt8) {
    if count < capacity { unsafe start![count] = byte }
    count += 1
  }

  mutating func append(_ bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBufferPointer { bytes in
      if let from = bytes.baseAddress { unsafe write(from, bytes.count) }
    }
  }

  mutating func append(_ text: String) { append(text.utf8.span) }

  mutating func append(_ text: Substring) { append(text.utf8.span) }

  mutating func append(_ text: StaticString) {
    unsafe write(text.utf8Start, text.utf8CodeUnitCount)
  }

  /// Writes the beginning of a text.
  mutating func append(_ text: StaticString, without tail: Int) {
    unsafe write(text.utf8Start, text.utf8CodeUnitCount - tail)
  }

  /// Writes a number in its one decimal spelling.
  mutating func append(decimal number: Int64) {
    if number < 0 { append(UInt8(ascii: "-")) }
    var digits = [20 of UInt8](repeating: 0)
    var first = 20
    var rest = number.magnitude
    repeat {
      first -= 1
      digits[first] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    } while rest > 0
    append(digits.span.extracting(first..<20))
  }

  private mutating func write(_ from: UnsafePointer<UInt8>, _ size: Int) {
    if size <= capacity - count, let start = unsafe start {
      unsafe (start + count).update(from: from, count: size)
    }
    count += size
  }
}

extension [UInt8] {
  /// The bytes that a body writes. The body runs a second time if they are more than expected.
  init<E: Error>(
    expecting size: Int, _ body: (inout ByteWriter) throws(E) -> Void
  ) throws(E) {
    var size = size
    while true {
      var needed = 0
      let bytes = try [UInt8](capacity: size) { output throws(E) in
        try unsafe output.withUnsafeMutableBufferPointer { buffer, count throws(E) in
          var writer = unsafe ByteWriter(buffer)
          try body(&writer)
          needed = writer.count
          if needed <= buffer.count { count = needed }
        }
      }
      if bytes.count == needed {
        self = bytes
        return
      }
      size = needed
    }
  }
}

extension String {
  /// The ASCII text that a body writes; in one allocation if it is as long as expected.
  init(expecting size: Int, _ body: (inout ByteWriter) -> Void) {
    var needed = 0
    self = unsafe String(unsafeUninitializedCapacity: size) { buffer in
      var writer = unsafe ByteWriter(buffer)
      body(&writer)
      needed = writer.count
      return needed <= size ? needed : 0
    }
    if needed > size { self = String(expecting: needed, body) }
  }
}
