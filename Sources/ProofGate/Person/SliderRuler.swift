// SPDX-License-Identifier: Apache-2.0

/// A scale below a picture, for pages without script: one step has two pixels.
enum SliderRuler {
  /// The digits in rows of three pixels, five rows each.
  private static let digits: [[UInt8]] = [
    [7, 5, 5, 5, 7], [2, 6, 2, 2, 7], [7, 1, 7, 4, 7], [7, 1, 7, 1, 7], [5, 5, 7, 1, 1],
    [7, 4, 7, 1, 7], [7, 4, 7, 5, 7], [7, 1, 1, 1, 1], [7, 5, 7, 5, 7], [7, 5, 7, 1, 7],
  ]
  /// The value at the right edge.
  static let top = SliderPuzzle.width / 2

  /// The place of the gap's left edge for a reading of the scale at its middle.
  static func place(of reading: Int) -> Int { reading * 2 - SliderPuzzle.side / 2 }

  static func pixels(white: UInt8, black: UInt8) -> [UInt8] {
    let width = SliderPuzzle.width
    var pixels = [UInt8](repeating: white, count: width * SliderPuzzle.rulerHeight)
    for value in stride(from: 0, through: top, by: 2) {
      let length = value % 10 == 0 ? 6 : 3
      for row in 0..<length { pixels[row * width + min(width - 1, value * 2)] = black }
      guard value % 10 == 0, value > 0, value < top else { continue }
      let text = Array(String(value).utf8)
      var x = value * 2 - text.count * 2
      for digit in text {
        draw(Int(digit) - 48, atX: x, into: &pixels, black)
        x += 4
      }
    }
    return pixels
  }

  private static func draw(_ digit: Int, atX x: Int, into pixels: inout [UInt8], _ black: UInt8) {
    for (row, bits) in digits[digit].enumerated() {
      for column in 0..<3 where bits & (4 >> UInt8(column)) != 0 {
        pixels[(row + 9) * SliderPuzzle.width + x + column] = black
      }
    }
  }
}
