// SPDX-License-Identifier: Apache-2.0

import Console
import Foundation
import ProofJOSE
import ProofModel
import ProofService

/// Verbs that read the hardware's log from the parts that phones brought.
enum LogVerbs {
  static let all: [Verb] = [show, verify]

  private static let options = [
    Option("--hardware", "ID", help: "whose log it is"),
    Option("--factory-key", "FILE", help: "opens its factory secret; the account's own if missing"),
    Option("--factory-secret", "FILE", help: "what the factory drew for it, instead of an account"),
    Option("--nonce", "HEX", help: "the backend's own: at least one part must answer it"),
    Option("--from", "N", help: "the first entry to read; 0 if missing"),
    Option(
      "--steps", "N", help: "key steps for one part; \(HardwareLogReader.stepsMax) if missing"),
  ]

  private static let details = """
    Each FILE holds one part as a phone stored it. Files may come in any order and repeated.
    exit status: 0 whole, 1 no part could be read, 3 incomplete, 4 altered
    """

  private static let show = verb(
    "log show", "shows the entries of the hardware's log, and what is wrong with it"
  ) { Answer($0.value(withEntries: true), text: $0.text(withEntries: true), status: $0.status) }

  private static let verify = verb(
    "log verify", "says whether the hardware's log is whole, and what is wrong with it"
  ) { Answer($0.value(withEntries: false), text: $0.text(withEntries: false), status: $0.status) }

  private static func verb(
    _ path: String, _ summary: String, _ answer: @escaping @Sendable (LogReading) -> Answer
  ) -> Verb {
    var verb = Verb(path, [Operand("FILE", .some)], options, summary) { invocation in
      answer(try read(invocation))
    }
    verb.details = details
    return verb
  }

  private static func read(_ invocation: Invocation) throws -> LogReading {
    let id = try Invocation.parse(invocation.needed("--hardware"), "--hardware") as HardwareID
    let from = try number(invocation, "--from") ?? 0
    let steps = try number(invocation, "--steps") ?? HardwareLogReader.stepsMax
    let nonce = try invocation.value("--nonce").map {
      try Invocation.parse($0, "--nonce") as HardwareLogNonce
    }
    guard from <= steps else {
      throw Failure.usage("--from \(from) takes more than \(steps) key steps; raise --steps")
    }
    let key = try key(of: id, invocation).advanced(to: from)
    return try LogReading(of: invocation.operands, with: key, answering: nonce, within: steps)
  }

  private static func number(_ invocation: Invocation, _ flag: String) throws -> UInt64? {
    guard let text = invocation.value(flag) else { return nil }
    guard let number = UInt64(text) else {
      throw Failure.usage("\(flag) takes a number, and not \"\(text)\"")
    }
    return number
  }

  /// The key of the log: from the factory secret in a file, or as the account keeps it.
  private static func key(of id: HardwareID, _ invocation: Invocation) throws -> HardwareLogKey {
    if let path = invocation.value("--factory-secret") {
      return try HardwareLogKey(of: id, drawn: KeyFile.read(path))
    }
    guard AccountAccess.isNamed(invocation) else {
      throw Failure.usage(
        "the key of the log comes from the account (--store or --service), or from "
          + "--factory-secret FILE")
    }
    let access = try AccountAccess(invocation)
    let answer = try access.perform("hardware/sealed-secret", ["id": .string(id.description)])
    guard case .object(let fields) = answer, let text = fields.text("sealed"),
      let sealed = Base64.decode(text)
    else {
      throw Failure(
        "The account has no factory secret of hardware \(id), so its log cannot be read. Add it: "
          + "proofctl hardware change \(id) --factory-secret FILE")
    }
    return try factoryKey(invocation, access).logKey(sealed, of: id)
  }

  private static func factoryKey(
    _ invocation: Invocation, _ access: AccountAccess
  ) throws -> FactoryKey {
    if let path = invocation.value("--factory-key") { return try FactoryKey(KeyFile.secret(path)) }
    guard case .object(let fields) = try access.perform("hardware/factory-key"),
      let bytes = fields.text("key").flatMap({ Base64.decode($0) }),
      bytes.count == FactoryKey.byteCount
    else { throw Failure("the service answered with something else than a factory key") }
    return try FactoryKey(JOSESecret(copying: bytes.span))
  }
}
