// SPDX-License-Identifier: Apache-2.0

import ProofBytes

/// A JSON value that keeps its members in order, so that two runs print the same bytes.
package indirect enum JSON: Sendable {
  case null
  case bool(Bool)
  case integer(Int)
  /// A number printed with this many decimals.
  case decimal(Double, decimals: Int)
  case string(String)
  case array([JSON])
  case object([(String, JSON)])
}

extension JSON: CustomStringConvertible {
  /// The value, with two spaces for each level.
  package var description: String { text(indent: "") }

  private func text(indent: String) -> String {
    let inner = indent + "  "
    switch self {
    case .null: return "null"
    case .bool(let value): return value ? "true" : "false"
    case .integer(let value): return "\(value)"
    case .decimal(let value, let decimals):
      return value.isFinite ? value.text(decimals: decimals) : "null"
    case .string(let value): return JSONQuoting.quoted(value)
    case .array(let values):
      if values.isEmpty { return "[]" }
      let lines = values.map { inner + $0.text(indent: inner) }
      return "[\n" + lines.joined(separator: ",\n") + "\n\(indent)]"
    case .object(let members):
      if members.isEmpty { return "{}" }
      let lines = members.map { "\(inner)\(JSONQuoting.quoted($0)): \($1.text(indent: inner))" }
      return "{\n" + lines.joined(separator: ",\n") + "\n\(indent)}"
    }
  }
}

extension Double {
  /// The number with a fixed count of decimals, without Foundation.
  package func text(decimals: Int) -> String {
    var scale = 1.0
    for _ in 0..<decimals { scale *= 10 }
    let scaled = (magnitude * scale).rounded()
    guard scaled < 1e15 else { return "\(self)" }
    let digits = String(Int(scaled))
    let padded = String(repeating: "0", count: Swift.max(0, decimals + 1 - digits.count)) + digits
    let sign = self < 0 && scaled > 0 ? "-" : ""
    guard decimals > 0 else { return sign + padded }
    return sign + padded.dropLast(decimals) + "." + padded.suffix(decimals)
  }
}
