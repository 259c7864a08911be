// SPDX-License-Identifier: Apache-2.0

/// A picture of palette indices as a PNG (ISO/IEC 15948).
///
/// The image data is stored, not compressed: two pictures of one size have the same number of bytes, so the length tells
/// nothing of what they show, and coding one takes the same time as coding the other.
struct PNGPicture: Sendable {
  /// A colour of the palette.
  struct Colour: Sendable, Hashable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8
  }

  /// Pixels in a row.
  let width: Int
  /// Rows.
  let height: Int
  /// One index for each pixel, row by row.
  var pixels: [UInt8]
  /// The colours, 256 of them.
  let palette: [Colour]
  /// The index of pixels that show what is below; nil for none.
  let clear: UInt8?

  /// The most bytes in one stored block of deflate.
  private static let blockMax = 65_535

  /// The file.
  func bytes() -> [UInt8] {
    var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    file.reserveCapacity(pixels.count + height + 1200)
    // 8 bits for a pixel, by palette; deflate, no interlacing.
    Self.append("IHDR", Self.big(width) + Self.big(height) + [8, 3, 0, 0, 0], to: &file)
    Self.append("PLTE", palette.flatMap { [$0.red, $0.green, $0.blue] }, to: &file)
    if let clear {
      Self.append("tRNS", (0...clear).map { $0 == clear ? 0 : 255 }, to: &file)
    }
    Self.append("IDAT", stored(), to: &file)
    Self.append("IEND", [], to: &file)
    return file
  }

  /// The rows, each after the number of no filter, as a zlib stream of stored blocks.
  private func stored() -> [UInt8] {
    var rows: [UInt8] = []
    rows.reserveCapacity(height * (width + 1))
    for row in 0..<height {
      rows.append(0)
      rows += pixels[row * width..<(row + 1) * width]
    }
    var stream: [UInt8] = [0x78, 0x01]
    stream.reserveCapacity(rows.count + 64)
    var start = 0
    while start < rows.count {
      let end = min(start + Self.blockMax, rows.count)
      let count = UInt16(end - start)
      stream.append(end == rows.count ? 1 : 0)
      stream += [UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8)]
      stream += rows[start..<end]
      start = end
    }
    return stream + Self.big(Int(Self.adler32(rows)))
  }

  private static func append(_ type: String, _ data: [UInt8], to file: inout [UInt8]) {
    let named = Array(type.utf8) + data
    file += big(data.count) + named
    file += big(Int(crc32(named)))
  }

  private static func big(_ number: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  static func adler32(_ bytes: [UInt8]) -> UInt32 {
    var low: UInt32 = 1
    var high: UInt32 = 0
    for byte in bytes {
      low += UInt32(byte)
      if low >= 65_521 { low -= 65_521 }
      high += low
      if high >= 65_521 { high -= 65_521 }
    }
    return high << 16 | low
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { rest, _ in
      rest & 1 == 1 ? 0xEDB8_8320 ^ rest >> 1 : rest >> 1
    }
  }

  private static func crc32(_ bytes: [UInt8]) -> UInt32 {
    let table = table
    var rest: UInt32 = .max
    for byte in bytes { rest = table[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] ^ rest >> 8 }
    return ~rest
  }
}
