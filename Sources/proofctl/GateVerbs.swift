// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import ProofJOSE
import ProofModel
import ProofService

/// Verbs about gates and the events that they judge.
enum GateVerbs {
  static let all: [Verb] =
    [keys, add, change, list, show, remove, rotate, revoke, configuration, credential] + events

  private static let keys = Verb(
    "gate keys", [Operand("new|show"), Operand("FILE")], [],
    "makes the X25519 key of a gate, 32 bytes in a file of mode 0600, or shows its public part"
  ) { invocation in
    let path = invocation.operands[1]
    switch invocation.operands[0] {
    case "new": try KeyFile.create(path)
    case "show": break
    case let word: throw Failure.usage("\"\(word)\" is no such thing; write new or show")
    }
    let key = try GateIdentity.Key(KeyFile.read(path), number: 1).publicKey
    let text = Hexadecimal.encode(key.bytes)
    return Answer(["publicKey": .string(text)], text: text)
  }

  private static let settings = [
    Option("--life", "SECONDS", help: "how long gate tokens live: 60 to 86400; 3600 if missing"),
    Option("--form", "FORM", help: "of request proofs: standard, compact or body"),
    Option("--freshness", "SECONDS", help: "how old a measurement may be: 0 to 10; 0 if missing"),
    Option("--proof-header", "NAME", help: "carries a compact proof; proof if missing"),
    Option("--token-header", "NAME", help: "carries the gate token; proof-token if missing"),
    Option("--digest-header", "NAME", help: "carries the covered digest; empty for none"),
    Option("--floor", "TIME", help: "gate tokens issued before this Unix second count no more"),
  ]

  private static func settings(
    _ invocation: Invocation, into arguments: inout JSONObject
  ) throws {
    for flag in ["--life", "--freshness", "--floor"] {
      guard let text = invocation.value(flag) else { continue }
      guard let number = Int64(text) else {
        throw Failure.usage("\(flag) takes a number, and not \"\(text)\"")
      }
      arguments[String(flag.dropFirst(2))] = .number(JSONNumber(number))
    }
    for (flag, name) in [
      ("--form", "form"), ("--proof-header", "proofHeader"), ("--token-header", "tokenHeader"),
      ("--digest-header", "digestHeader"),
    ] { AccountVerbs.set(&arguments, name, invocation.value(flag)) }
  }

  private static let publicKey = Option(
    "--public", "FILE", help: "the public part of the gate's key, as \"gate keys\" shows it")

  /// A public key in a file, in hexadecimal. It is no secret: anyone may read the file.
  private static func publicKey(in path: String) throws -> JSONValue {
    guard let bytes = try SmallFile.read(path, limit: 4_096) else {
      throw Failure("\(path) is not there; name the file with the gate's public key")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    return .string(String(text.filter { !$0.isWhitespace }))
  }

  private static let add = Verb(
    "gate add", [Operand("NAME")],
    [
      publicKey, Option("--id", "HEX", help: "its id, 16 bytes; a fresh one if missing"),
      Option("--development", help: "for the bench"),
    ] + settings, "adds a gate: a verifier that speaks HTTP"
  ) { invocation in
    var arguments: JSONObject = [
      "name": .string(invocation.operands[0]),
      "publicKey": try publicKey(in: invocation.needed("--public")),
      "mode": .string(invocation.has("--development") ? "development" : "production"),
    ]
    AccountVerbs.set(&arguments, "id", invocation.value("--id"))
    try settings(invocation, into: &arguments)
    return Answer(try AccountAccess(invocation).perform("gate/add", arguments))
  }

  private static let change = AccountVerbs.verb(
    "gate change", [Operand("NAME")], settings, "changes settings of a gate", as: "gate/change"
  ) { invocation in
    var arguments = named(invocation)
    try settings(invocation, into: &arguments)
    guard arguments.members.count > 1 else {
      throw Failure.usage("say what to change: --life, --form, --freshness, --floor or a header")
    }
    return arguments
  }

  private static let list = AccountVerbs.verb("gate list", "lists the gates", as: "gate/list")

  private static let show = AccountVerbs.verb(
    "gate show", [Operand("NAME")], [], "shows a gate with the public parts of its keys",
    as: "gate/show", named)

  private static let remove = AccountVerbs.verb(
    "gate remove", [Operand("NAME")], [], "removes a gate that no API, event or challenge names",
    as: "gate/remove", named)

  private static func named(_ invocation: Invocation) -> JSONObject {
    ["name": .string(invocation.operands[0])]
  }

  private static let rotate = AccountVerbs.verb(
    "gate rotate",
    [Operand("NAME"), Operand("key|account|issuer"), Operand("next|promote|retire|drop")],
    [publicKey, KeyVerbs.atOnce], "replaces a key of a gate, step by step", as: "gate/rotate"
  ) { invocation in
    var arguments = named(invocation)
    arguments["what"] = .string(invocation.operands[1])
    arguments["step"] = .string(invocation.operands[2])
    if let path = invocation.value("--public") {
      arguments["publicKey"] = try publicKey(in: path)
    }
    arguments["atOnce"] = .bool(invocation.has("--at-once"))
    return arguments
  }

  private static let revoke = AccountVerbs.verb(
    "gate revoke", [Operand("NAME"), Operand("DEVICE")], [],
    "revokes the tokens that a device has of a gate, with its next configuration",
    as: "gate/revoke"
  ) { invocation in
    var arguments = named(invocation)
    arguments["device"] = .string(invocation.operands[1])
    return arguments
  }

  private static let configuration = Verb(
    "gate configuration", [Operand("NAME")],
    [
      Option("--output", "FILE", help: "writes it there, mode 0600; else it is shown"),
      Option("--audience", "NAME", help: "for the redeemers of this audience: its events alone"),
    ], "shows what a gate judges by, signed; it holds keys"
  ) { invocation in
    var arguments = named(invocation)
    AccountVerbs.set(&arguments, "audience", invocation.value("--audience"))
    let value = try AccountAccess(invocation).perform("gate/configuration", arguments)
    guard case .object(let object) = value, let text = object.text("configuration") else {
      return Answer(value)
    }
    guard let path = invocation.value("--output") else { return Answer(value, text: text) }
    try SecretFile.replace(path, Array((text + "\n").utf8).span)
    return Answer(["configuration": .string("in \(path)")])
  }

  private static let credential = Verb(
    "gate credential", [Operand("NAME")],
    [
      Option("--as", "WORD", help: "its name among the management tokens; gate.NAME if missing"),
      Option("--output", "FILE", help: "writes it there, mode 0600; else it is shown"),
    ], "draws a credential with which the gate fetches its configuration, and nothing else"
  ) { invocation in
    var arguments = named(invocation)
    AccountVerbs.set(&arguments, "as", invocation.value("--as"))
    let answer = try AccountAccess(invocation).perform("gate/credential", arguments)
    guard let path = invocation.value("--output"), case .object(var object) = answer,
      let token = object.text("token")
    else { return Answer(answer) }
    do { try SecretFile.replace(path, Array(token.utf8).span) } catch {
      throw Failure(
        "\(error) The credential was created and is lost: \"proofctl management change\" makes "
          + "another one.")
    }
    object["token"] = .string("in \(path)")
    return Answer(.object(object))
  }

  private static let events: [Verb] = [
    AccountVerbs.verb(
      "event add", [Operand("NUMBER|FIRST-LAST", .optional)],
      [
        Option("--gate", "NAME", help: "the gate whose apps make tokens of these events"),
        Option("--audience", "NAME", help: "the redeemers that judge them"),
        Option("--life", "SECONDS", help: "how long a token counts: 1 to 86400; 60 if missing"),
        Option("--account", help: "a token must name a user account"),
        Option("--data", help: "a token must be bound to business data"),
        Option("--unanchored", help: "a token without a beacon counts"),
        Option("--measured", "SECONDS", help: "how old the measurement may be; 10 if missing"),
      ], "lists event numbers; 3300-3400 if none are named", as: "event/add"
    ) { invocation in
      var arguments: JSONObject = [
        "gate": .string(try invocation.needed("--gate")),
        "audience": .string(try invocation.needed("--audience")),
      ]
      AccountVerbs.set(&arguments, "numbers", invocation.operand(0))
      for name in ["life", "measured"] {
        guard let text = invocation.value("--\(name)") else { continue }
        guard let number = Int64(text) else {
          throw Failure.usage("--\(name) takes a number, and not \"\(text)\"")
        }
        arguments[name] = .number(JSONNumber(number))
      }
      for name in ["account", "data", "unanchored"] where invocation.has("--\(name)") {
        arguments[name] = .bool(true)
      }
      return arguments
    },
    AccountVerbs.verb("event list", "lists the event numbers", as: "event/list"),
    AccountVerbs.verb(
      "event remove", [Operand("NUMBER|FIRST-LAST")], [],
      "removes event numbers, as they were listed", as: "event/remove"
    ) { ["numbers": .string($0.operands[0])] },
  ]
}
