// SPDX-License-Identifier: Apache-2.0

import ProofJOSE

/// Explains the codes of errors, refusals and log lines.
enum Explanation {
  static let verb = Verb(
    "explain", [Operand("CODE", .some)], [],
    "says what a code of an error or a log line means, who can mend it, and the next step"
  ) { invocation in
    let reasons = try invocation.operands.map { try find($0) }
    return Answer(
      .array(reasons.map(value)), text: reasons.map(text).joined(separator: "\n\n"))
  }

  private static func find(_ code: String) throws(Failure) -> Reason {
    if let reason = Reason.all.first(where: { $0.code == code }) { return reason }
    // A detail that is a number has one meaning for all numbers.
    if let dot = code.lastIndex(of: "."), UInt16(code[code.index(after: dot)...]) != nil {
      let general = "\(code[...dot])N"
      if let reason = Reason.all.first(where: { $0.code == general }) { return reason }
    }
    let near = Reason.all.first { $0.code.lowercased() == code.lowercased() }
    let hint = near.map { " Upper and lower case differ; there is \($0.code)." } ?? ""
    throw Failure("there is no code “\(code)”.\(hint) docs/REASONS.md lists all codes.")
  }

  private static func value(_ reason: Reason) -> JSONValue {
    [
      "code": .string(reason.code), "condition": .string(reason.condition),
      "cause": .string(reason.cause), "mender": .string(reason.mender),
      "step": .string(reason.step),
    ]
  }

  private static func text(_ reason: Reason) -> String {
    """
    \(reason.code): \(reason.condition)
      cause      \(reason.cause)
      who mends  \(reason.mender): \(reason.menderWords)
      next step  \(reason.step)
    """
  }
}
