// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import Foundation
import ProofJOSE
import ProofKit
import ProofModel

/// Verbs about builds of the SDK and their measurement proof keys.
enum SDKVerbs {
  static let all: [Verb] = [new, add, list, sources, revoke, configString]

  private static let mode = Option("--mode", "MODE", help: "production or development")
  private static let name = Option("--name", "TEXT", help: "what people call the build")
  private static let without = Option(
    "--without", "SOURCE,…", help: "sources its apps are not asked for, such as 3/4")

  /// Makes a key by the one script that also writes it into the SDK's sources.
  private static let new = Verb(
    "sdk new", [],
    [
      mode, name, without,
      Option("--key", "FILE", help: "the key, 16 bytes; made if it is not there"),
      Option("--sources", "FOLDER", help: "the SDK's sources; this folder if missing"),
      Option("--output", "FILE", help: "the generated code; the SDK's own file if missing"),
    ], "makes a measurement proof key, writes it into the SDK's sources and registers it"
  ) { invocation in
    let mode = invocation.value("--mode") ?? "production"
    let generator = (invocation.value("--sources") ?? ".") + "/CSources/ProofKey/generate"
    guard FileManager.default.isExecutableFile(atPath: generator) else {
      throw Failure("\(generator) is not there: name the SDK's sources with --sources FOLDER")
    }
    // The generator's own error names `--key-file`, which here is the flag that unlocks the store.
    guard mode != "production" || invocation.value("--key") != nil else {
      throw Failure.usage("--key is missing: the file of the key, which is made if it is not there")
    }
    var arguments = ["--mode", mode]
    if let key = invocation.value("--key") { arguments += ["--key-file", key] }
    if let output = invocation.value("--output") { arguments += ["--output", output] }
    let text = try run(generator, arguments)
    guard AccountAccess.isNamed(invocation) else {
      return Answer(["generated": .string(text)], text: text)
    }
    return try register(invocation, mode: mode)
  }

  private static let add = Verb(
    "sdk add", [],
    [
      mode, name, without, Option("--key", "FILE", help: "the key, 16 bytes"),
      Option("--development", help: "the public key that is checked in, for the bench"),
    ], "registers a key that is there already"
  ) { invocation in
    guard invocation.has("--development") == (invocation.value("--key") == nil) else {
      throw Failure.usage("name the key with --key FILE, or take --development")
    }
    let isBench = invocation.has("--development")
    return try register(
      invocation, mode: isBench ? "development" : invocation.value("--mode") ?? "production")
  }

  private static let list = AccountVerbs.verb(
    "sdk list", [], [], "lists the builds of the SDK", as: "sdk/list")

  private static let sources = AccountVerbs.verb(
    "sdk sources", [Operand("KEY-ID"), Operand("SOURCE,…|none")], [],
    "says which sources apps with a key are not asked for", as: "sdk/sources"
  ) { ["id": .string($0.operands[0]), "without": .string($0.operands[1])] }

  private static let revoke = AccountVerbs.verb(
    "sdk revoke", [Operand("KEY-ID")], [], "refuses a build's reports from now on", as: "sdk/revoke"
  ) { ["id": .string($0.operands[0])] }

  private static let configString = Verb(
    "sdk config-string", [], [], "shows the string that an app is initialised with"
  ) { invocation in
    let value = try AccountAccess(invocation).perform("sdk/config-string")
    guard case .object(let object) = value, case .string(let text)? = object["config"] else {
      return Answer(value)
    }
    return Answer(value, text: text)
  }

  private static func register(_ invocation: Invocation, mode: String) throws -> Answer {
    var arguments: JSONObject = ["mode": .string(mode)]
    if let name = invocation.value("--name") { arguments["name"] = .string(name) }
    if let without = invocation.value("--without") { arguments["without"] = .string(without) }
    arguments["key"] = .string(try keyText(invocation, mode: mode))
    return Answer(try AccountAccess(invocation).perform("sdk/add", arguments))
  }

  /// The key in base64, the form of the management API.
  private static func keyText(_ invocation: Invocation, mode: String) throws -> String {
    if let path = invocation.value("--key") {
      let bytes = try SecretFile.read(path, limit: 16)
      return text(JOSESecret(copying: bytes.span))
    }
    guard mode == "development" else { throw Failure.usage("--key is missing") }
    let bench = MeasurementProofKey.sdk
    guard bench.mode == .development else {
      throw Failure("this tool was built with a production key; name the bench key with --key")
    }
    return text(bench.withBytes { JOSESecret(copying: $0) })
  }

  private static func text(_ key: borrowing JOSESecret) -> String {
    let encoded = key.encoded(as: .standard)
    return encoded.withBytes { bytes in
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
  }

  private static func run(_ program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let text = String(decoding: bytes, as: UTF8.self).split(separator: "\n").joined(separator: "\n")
    guard process.terminationStatus == 0 else { throw Failure(text) }
    return text
  }
}
