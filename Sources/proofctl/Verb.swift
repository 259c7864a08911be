// SPDX-License-Identifier: Apache-2.0

import Console
import ProofJOSE

/// An argument of a verb that is given by its position.
struct Operand: Sendable {
  enum Count: Sendable {
    case one, optional, some
  }

  let name: String
  let count: Count

  init(_ name: String, _ count: Count = .one) {
    self.name = name
    self.count = count
  }

  var usage: String {
    switch count {
    case .one: name
    case .optional: "[\(name)]"
    case .some: "\(name)…"
    }
  }
}

/// The result of a verb: JSON, and a text for people.
struct Answer: Sendable {
  var value: JSONValue
  /// The text for people; nil to print the JSON in lines.
  var text: String?
  /// Whether the answer is the desired one: a valid token, a healthy service.
  var isGood: Bool { status == 0 }
  /// The exit status: 0 if the answer is the desired one, else 1, or what the verb's help says.
  var status: Int32

  init(_ value: JSONValue, text: String? = nil, isGood: Bool = true) {
    self.init(value, text: text, status: isGood ? 0 : 1)
  }

  init(_ value: JSONValue, text: String?, status: Int32) {
    self.value = value
    self.text = text
    self.status = status
  }
}

/// An action of the tool.
struct Verb: Sendable {
  let noun: String
  let name: String
  let operands: [Operand]
  let flags: [Option]
  let summary: String
  /// Further lines of the verb's own help, such as the names that it takes.
  var details = ""
  let run: @Sendable (Invocation) throws -> Answer

  init(
    _ path: String, _ operands: [Operand] = [], _ flags: [Option] = [], _ summary: String,
    run: @escaping @Sendable (Invocation) throws -> Answer
  ) {
    let parts = path.split(separator: " ")
    noun = String(parts[0])
    name = parts.count > 1 ? String(parts[1]) : ""
    self.operands = operands
    self.flags = flags
    self.summary = summary
    self.run = run
  }

  /// Noun and verb, as they are typed.
  var path: String { name.isEmpty ? noun : "\(noun) \(name)" }

  var usage: String {
    (["proofctl", path] + operands.map(\.usage) + (flags.isEmpty ? [] : ["[flags]"]))
      .joined(separator: " ")
  }
}

/// The reason why the tool did not carry out a command.
struct Failure: Error, CustomStringConvertible {
  enum Kind: Sendable {
    /// Refused or failed: exit code 1.
    case refused
    /// An invalid command line: exit code 2.
    case usage
  }

  let kind: Kind
  let description: String

  init(_ description: String, _ kind: Kind = .refused) {
    self.description = description
    self.kind = kind
  }

  static func usage(_ description: String) -> Failure { Failure(description, .usage) }
}
