// SPDX-License-Identifier: Apache-2.0

package import ProofBytes
import Testing

/// One block of a vector file, in the format of Tests/Vectors/README.md.
package struct Block: Sendable, CustomTestStringConvertible {
  package let file: String
  /// Names and values, in order.
  package let lines: [(name: String, value: String)]

  package var testDescription: String { "\(file) \(self["case"]): \(self["comment"])" }

  /// The one value of this name. Ends the test run if there is none.
  package subscript(name: String) -> String {
    guard let line = lines.first(where: { $0.name == name }) else {
      preconditionFailure("\(file): no \(name)")
    }
    return line.value
  }

  package func has(_ name: String, _ value: String? = nil) -> Bool {
    lines.contains { $0.name == name && (value == nil || $0.value == value) }
  }

  package func all(_ name: String) -> [String] { lines.filter { $0.name == name }.map(\.value) }

  package func bytes(_ name: String) -> [UInt8] { hex(self[name]) }

  /// A time in whole seconds.
  package func time(_ name: String) -> UnixTime { UnixTime(clamping: number(name) as UInt64) }

  package func number<Number: FixedWidthInteger>(_ name: String) -> Number {
    guard let number = Number(self[name]) else {
      preconditionFailure("\(file): \(name) is not a number: \(self[name])")
    }
    return number
  }
}

/// Bytes from hexadecimal, for vectors. Ends the test run on anything else.
package func hex(_ text: some StringProtocol) -> [UInt8] {
  let digits = text.map { digit in
    guard let value = digit.hexDigitValue else { preconditionFailure("not hexadecimal: \(text)") }
    return UInt8(value)
  }
  precondition(digits.count % 2 == 0, "half a byte: \(text)")
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
