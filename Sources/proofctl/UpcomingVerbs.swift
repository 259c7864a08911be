// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import ProofJOSE
import ProofKit
import ProofModel

/// Registers what is still to come: the records of an update, and of an environment.
enum UpcomingVerbs {
  /// The longest file of records.
  private static let fileMax = 4 << 20

  static let environment = Verb(
    "registration environment", [Operand("add"), Operand("FILE")],
    [
      Option("--name", "TEXT", help: "what people call the environment"),
      Option("--expire-after", "TIME", help: "such as 90s, 15m, 1h, 30d"),
    ], "registers the records of a system to come: apps get the pair for it beforehand"
  ) { invocation in
    guard invocation.operands[0] == "add" else {
      let word = invocation.operands[0]
      throw Failure.usage("\"registration environment\" has no \"\(word)\"; it has: add")
    }
    let records = try records(in: invocation.operands[1])
    var arguments: JSONObject = [
      "name": .string(invocation.value("--name") ?? "environment"),
      "records": .string(Base64.encode(try EvidenceSet(records).recordBytes, .url)),
    ]
    if let time = invocation.value("--expire-after") {
      arguments["expireAfter"] = .number(JSONNumber(try AccountVerbs.seconds(time)))
    }
    return Answer(try AccountAccess(invocation).perform("registration/environment-add", arguments))
  }

  /// Adds the arguments of an update: the records of its files, and those of a reference machine.
  static func add(
    to arguments: inout JSONObject, _ files: EvidenceSet, _ invocation: Invocation
  ) throws {
    guard let updates = invocation.value("--upcoming") else {
      for option in ["--records", "--key-id"] where invocation.has(option) {
        throw Failure.usage("\(option) goes with --upcoming")
      }
      return
    }
    var records = files
    if let file = invocation.value("--records") {
      // The files' own records stand: the reference machine may have another copy of them.
      let own = Set(files.records.map(\.source))
      records = try records.replacing(
        with: try self.records(in: file).filter { !own.contains($0.source) }, whole: [])
    }
    arguments["upcoming"] = .string(updates)
    arguments["records"] = .string(Base64.encode(records.recordBytes, .url))
    if let keyID = invocation.value("--key-id") { arguments["keyID"] = .string(keyID) }
  }

  /// Reads a file of records: class, number, name and digest in hexadecimal, in a line each; the digest of an
  /// absent record is `absent`.
  private static func records(in file: String) throws -> [EvidenceRecord] {
    guard let bytes = try SmallFile.read(file, limit: fileMax) else {
      throw Failure.usage("\(file) is not there")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure.usage("\(file) is no text")
    }
    var records: [EvidenceRecord] = []
    for (number, line) in text.split(separator: "\n").enumerated() {
      guard let record = EvidenceRecord(line: String(line)) else {
        throw Failure.usage("\(file), line \(number + 1): no record; see docs/SDK.md")
      }
      records.append(record)
    }
    return records
  }
}
