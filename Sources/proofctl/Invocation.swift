import DurableFiles
import Glibc
import ProofJOSE
import ProofModel

/// A verb as it was called.
struct Invocation: Sendable {
  let operands: [String]
  private let values: [String: String]

  /// Flags that every verb takes.
  static let globals = [
    Flag("--json", nil, "answers in JSON, errors too"),
    Flag("--store", "FILE", "the account's store; else PROOF_STORE"),
    Flag("--key-file", "FILE", "unlocks the store"),
    Flag("--passphrase-file", "FILE", "unlocks the store; else PROOF_PASSPHRASE"),
    Flag("--service", "URL", "a running service instead of a store; else PROOF_SERVICE"),
    Flag("--token-file", "FILE", "its management token; else PROOF_MANAGEMENT_TOKEN"),
    Flag("--ca", "FILE", "certificates that alone vouch for the service"),
    Flag("--help", nil, "explains the verb"),
  ]

  init(_ arguments: [String], of verb: Verb) throws(Failure) {
    let known = verb.flags + Self.globals
    var operands: [String] = []
    var values: [String: String] = [:]
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      guard argument.hasPrefix("--") else {
        operands.append(argument)
        continue
      }
      guard let flag = known.first(where: { $0.name == argument }) else {
        throw .usage("\(argument) is no flag of \"\(verb.path)\"")
      }
      guard values[argument] == nil else { throw .usage("\(argument) stands there twice") }
      if flag.placeholder == nil {
        values[argument] = ""
      } else if let value = rest.first, !value.hasPrefix("--") {
        values[argument] = value
        rest = rest.dropFirst()
      } else {
        throw .usage("\(argument) needs a value")
      }
    }
    self.operands = operands
    self.values = values
    if values["--help"] == nil { try Self.check(operands, of: verb) }
  }

  private static func check(_ operands: [String], of verb: Verb) throws(Failure) {
    let needed = verb.operands.filter { $0.count != .optional }.count
    if operands.count < needed {
      throw .usage("\(verb.operands[operands.count].name) is missing")
    }
    let isOpen = verb.operands.last.map { $0.count == .some } ?? false
    if operands.count > verb.operands.count, !isOpen {
      throw .usage("\"\(operands[verb.operands.count])\" is one argument too many")
    }
  }

  func has(_ flag: String) -> Bool { values[flag] != nil }

  func value(_ flag: String) -> String? { values[flag] }

  func needed(_ flag: String) throws(Failure) -> String {
    guard let value = values[flag] else { throw .usage("\(flag) is missing") }
    return value
  }

  func operand(_ index: Int) -> String? { index < operands.count ? operands[index] : nil }

  /// A flag's value, or else a variable's of the environment.
  func value(_ flag: String, else variable: String) -> String? {
    values[flag] ?? Self.environment(variable)
  }

  static func environment(_ name: String) -> String? {
    guard let text = unsafe getenv(name).map({ unsafe String(cString: $0) }), !text.isEmpty else {
      return nil
    }
    return text
  }

  /// Bytes in hexadecimal. What is secret comes as `@FILE`, or as `-` from standard input: a command
  /// line can be seen by others.
  func hexadecimal<Value: FixedBytes>(_ flag: String, _: Value.Type) throws -> Value {
    try Self.parse(try Self.text(of: needed(flag)), flag)
  }

  static func parse<Value: FixedBytes>(_ text: String, _ what: String) throws(Failure) -> Value {
    guard let bytes = Hexadecimal.bytes(text), let value = try? Value(bytes) else {
      throw .usage("\(what) takes \(2 * Value.byteCount) hexadecimal digits, not all zeros")
    }
    return value
  }

  /// The same for a secret of a known length.
  func secret(_ flag: String, count: Int) throws -> SecretBytes {
    guard let bytes = Hexadecimal.bytes(try Self.text(of: needed(flag))), bytes.count == count
    else { throw Failure.usage("\(flag) takes \(2 * count) hexadecimal digits") }
    return SecretBytes(copying: bytes.span)
  }

  /// A text, or what `@FILE` or `-` stands for, without its end of line.
  static func text(of value: String) throws -> String {
    if value == "-" { return readLine() ?? "" }
    guard value.hasPrefix("@") else { return value }
    let bytes = try SecretFile.read(String(value.dropFirst()), limit: 1 << 20)
    let text = String(decoding: bytes, as: UTF8.self)
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }
}

/// Hexadecimal as people type it.
enum Hexadecimal {
  static func bytes(_ text: String) -> [UInt8]? {
    guard text.utf8.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    var high: UInt8?
    for character in text {
      guard let digit = character.hexDigitValue, character.isASCII else { return nil }
      if let first = high {
        bytes.append(first << 4 | UInt8(digit))
        high = nil
      } else {
        high = UInt8(digit)
      }
    }
    return bytes
  }

  static func text(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
