// SPDX-License-Identifier: Apache-2.0

/// Writes ASCII and UTF-8 into a span that may be too short; bytes that do not fit are only
/// counted.
///
/// So a secret is written twice by the same code: into an empty span to learn the length, then into
/// guarded memory of exactly that length. Other texts are written again only if they are long.
struct TextWriter {
  /// The number of bytes that were written or counted.
  private(set) var count = 0

  mutating func byte(_ byte: UInt8, into text: inout MutableSpan<UInt8>) {
    if count < text.count { text[count] = byte }
    count += 1
  }

  mutating func utf8(_ string: String, into text: inout MutableSpan<UInt8>) {
    bytes(string.utf8.span, into: &text)
  }

  mutating func bytes(_ bytes: Span<UInt8>, into text: inout MutableSpan<UInt8>) {
    for index in 0..<max(0, min(bytes.count, text.count - count)) {
      text[count + index] = bytes[index]
    }
    count += bytes.count
  }

  mutating func base64(
    _ bytes: Span<UInt8>, _ alphabet: Base64Alphabet, into text: inout MutableSpan<UInt8>
  ) {
    var index = 0
    while index < bytes.count {
      let rest = min(3, bytes.count - index)
      var group: UInt32 = 0
      for offset in 0..<3 {
        group = group << 8 | (offset < rest ? UInt32(bytes[index + offset]) : 0)
      }
      for offset in 0...rest {
        let sextet = group >> (18 - 6 * UInt32(offset)) & 0x3f
        byte(alphabet.character(of: sextet), into: &text)
      }
      if alphabet == .standard {
        for _ in rest..<3 { byte(Base64Alphabet.pad, into: &text) }
      }
      index += 3
    }
  }

  /// Writes a text that is no secret.
  static func bytes(
    _ write: (inout TextWriter, inout MutableSpan<UInt8>) -> Void
  ) -> [UInt8] {
    var room = 512
    while true {
      var text = [UInt8](repeating: 0, count: room)
      var span = text.mutableSpan
      var writer = TextWriter()
      write(&writer, &span)
      if writer.count <= room {
        text.removeLast(room - writer.count)
        return text
      }
      room = writer.count
    }
  }

  /// Writes a text that is a secret.
  static func secret(
    _ write: (inout TextWriter, inout MutableSpan<UInt8>) -> Void
  ) -> JOSESecret {
    JOSESecret(count: count(write)) { text in
      var writer = TextWriter()
      write(&writer, &text)
    }
  }

  private static func count(
    _ write: (inout TextWriter, inout MutableSpan<UInt8>) -> Void
  ) -> Int {
    var nothing: [UInt8] = []
    var span = nothing.mutableSpan
    var writer = TextWriter()
    write(&writer, &span)
    return writer.count
  }
}
