// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import Foundation
import Glibc
import ProofJOSE
import ProofModel

/// A verb as it was called.
struct Invocation: Sendable {
  private let options: Options

  var operands: [String] { options.operands }

  /// Flags that every verb takes.
  static let globals = [
    Option("--json", help: "answers in JSON, errors too"),
    Option(
      "--store", "FILE|URI",
      help: "the account's store: a file, or postgres://… (docs/SCALE.md); else PROOF_STORE"),
    Option("--key-file", "FILE", help: "unlocks the store"),
    Option("--passphrase-file", "FILE", help: "unlocks the store; else PROOF_PASSPHRASE"),
    Option("--service", "URL", help: "a running service instead of a store; else PROOF_SERVICE"),
    Option("--token-file", "FILE", help: "its management token; else PROOF_MANAGEMENT_TOKEN"),
    Option("--ca", "FILE", help: "certificates that alone vouch for the service"),
    Option("--help", help: "explains the verb"),
  ]

  init(_ arguments: [String], of verb: Verb) throws(Failure) {
    do {
      options = try Options(arguments, taking: verb.flags + Self.globals, takesOperands: true)
    } catch {
      throw .usage("\(error)")
    }
    if !has("--help") { try Self.check(operands, of: verb) }
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

  func has(_ flag: String) -> Bool { options.has(flag) }

  func value(_ flag: String) -> String? { options.value(flag) }

  func values(_ flag: String) -> [String] { options.values(flag) }

  func needed(_ flag: String) throws(Failure) -> String {
    do { return try options.needed(flag) } catch { throw .usage("\(error)") }
  }

  func operand(_ index: Int) -> String? { index < operands.count ? operands[index] : nil }

  /// A flag's value, or else the value of an environment variable.
  func value(_ flag: String, else variable: String) -> String? {
    value(flag) ?? Self.environment(variable)
  }

  static func environment(_ name: String) -> String? {
    guard let text = unsafe getenv(name).map({ unsafe String(cString: $0) }), !text.isEmpty else {
      return nil
    }
    return text
  }

  /// Bytes in hexadecimal. A secret comes as `@FILE`, or as `-` from standard input, because other
  /// users can see a command line.
  func hexadecimal<Value: FixedBytes>(_ flag: String, _: Value.Type) throws -> Value {
    try Self.parse(try Self.text(of: needed(flag)), flag)
  }

  static func parse<Value: FixedBytes>(_ text: String, _ what: String) throws(Failure) -> Value {
    guard let value = try? Value(text) else {
      throw .usage("\(what) takes \(2 * Value.byteCount) hexadecimal digits, not all zeros")
    }
    return value
  }

  /// Reads a secret of a known length in the same way.
  func secret(_ flag: String, count: Int) throws -> SecretBytes {
    guard let bytes = Hexadecimal.decode(try Self.text(of: needed(flag))), bytes.count == count
    else { throw Failure.usage("\(flag) takes \(2 * count) hexadecimal digits") }
    return SecretBytes(copying: bytes.span)
  }

  /// A text, or the content of `@FILE` or `-`, less its line end.
  static func text(of value: String) throws -> String {
    if value == "-" { return readLine() ?? "" }
    guard value.hasPrefix("@") else { return value }
    let bytes = try SecretFile.read(String(value.dropFirst()), limit: 1 << 20)
    let text = String(decoding: bytes, as: UTF8.self)
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }

  /// Reads a text of several lines in the same way. Standard input is read to its end, not just one
  /// line; text typed at a terminal ends with its first line.
  static func content(of value: String) throws -> String {
    let isFile = value.hasPrefix("@")
    guard isFile || value == "-" else { return value }
    if !isFile, isatty(STDIN_FILENO) == 1 { return readLine() ?? "" }
    let bytes =
      isFile
      ? try SecretFile.read(String(value.dropFirst()), limit: 1 << 20)
      : Array(FileHandle.standardInput.readDataToEndOfFile())
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure("\(isFile ? String(value.dropFirst()) : "standard input") is no text in UTF-8")
    }
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }
}
