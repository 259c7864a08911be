// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import ProofBackend
import ProofJOSE
import ProofKit
import ProofKitHTTP
import ProofModel

/// Verbs that ask a gate about event tokens, as a backend does.
enum EventVerbs {
  static let all: [Verb] = [check, forget]

  private static let places = [
    Option("--events", "URL", help: "the gate's listener for events"),
    Option("--credential", "FILE", help: "what `proof-gate event-credential` showed, mode 0600"),
  ]

  private static let check = Verb(
    "event check", [Operand("NUMBER"), Operand("TOKEN|@FILE|-")],
    places + [
      Option("--account", "NAME", help: "the user account that the token must name"),
      Option("--data", "TEXT|@FILE", help: "the business data, byte for byte"),
      Option("--address", "ADDRESS", help: "the client that sent the token"),
      Option("--key", "TEXT", help: "asked again under it, a question gets the same answer"),
    ], "redeems an event token at a gate, and shows the judgement; it counts once"
  ) { invocation in
    guard let number = UInt16(invocation.operands[0]) else {
      throw Failure.usage("the event is a number from 0 to 65535")
    }
    let question = EventVerifier.Question(
      try Invocation.text(of: invocation.operands[1]), event: number,
      account: invocation.value("--account"),
      data: try invocation.value("--data").map { try bytes(of: $0) },
      idempotencyKey: invocation.value("--key"), address: invocation.value("--address"))
    let judgement = try ask(invocation, EventCall.path, EventCall(question).body)
    guard case .object(let object) = judgement, case .bool(let isValid)? = object["valid"] else {
      throw Failure("the answer is no judgement: is it a gate's listener for events?")
    }
    return Answer(judgement, isGood: isValid)
  }

  /// Business data: a text, or `@` and a file, byte for byte.
  private static func bytes(of data: String) throws -> [UInt8] {
    guard data.hasPrefix("@") else { return Array(data.utf8) }
    let path = String(data.dropFirst())
    guard let bytes = try SmallFile.read(path, limit: 16 << 20) else {
      throw Failure("\(path) is not there; name the file with the business data")
    }
    return bytes
  }

  private static let forget = Verb(
    "event forget", [Operand("ACCOUNT")], places,
    "makes a gate forget which devices a user account was seen with"
  ) { invocation in
    let account: JSONValue = ["account": .string(invocation.operands[0])]
    return Answer(try ask(invocation, "/v1/forget", Array(account.text.utf8)))
  }

  private static func ask(
    _ invocation: Invocation, _ path: String, _ question: [UInt8]
  ) throws -> JSONValue {
    let url = try invocation.needed("--events")
    let transport = CurlTransport(
      .init(authorities: invocation.value("--ca"), allowsPlainLoopback: true))
    let credential = try Invocation.text(of: "@" + invocation.needed("--credential"))
    var request = TransportRequest(
      url: (url.hasSuffix("/") ? String(url.dropLast()) : url) + path, body: question,
      timeout: .seconds(30))
    request.authorization = "Bearer \(credential)"
    let response: TransportResponse
    do throws(TransportError) { response = try transport.send(request) } catch {
      throw Failure("\(url): \(error)")
    }
    let answer = try? JSONValue(parsing: response.body.span)
    // A judgement comes with 503, too, if the gate's store does not answer.
    if let answer, case .object(let object) = answer {
      if response.status == 200 || object["valid"] != nil { return answer }
      if let words = object.text("title") { throw Failure(words) }
    }
    throw Failure(
      "\(url) answered with status \(response.status): is it a gate's listener for events?")
  }
}
