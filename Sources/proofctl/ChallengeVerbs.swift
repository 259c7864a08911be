// SPDX-License-Identifier: Apache-2.0

import Console
import ProofJOSE

/// Verbs about named challenges, and the switch that has gates refuse nothing.
enum ChallengeVerbs {
  static let all: [Verb] = [add, list, remove, watch] + risks

  private static let add = AccountVerbs.verb(
    "challenge add", [Operand("NAME")],
    [
      Option("--kind", "KIND", help: "how it is answered: token, proof, work, memory or person"),
      Option("--level", "N", help: "how much work: 1 to 24 of work, 1 to 7 of memory"),
      Option("--life", "SECONDS", help: "how long an answer may take: 10 to 3600"),
      Option("--gate", "NAME", help: "the gate that sets it; each gate if missing"),
    ], "lists a challenge that apps and pages ask a gate for by its name", as: "challenge/add"
  ) { invocation in
    var arguments: JSONObject = [
      "name": .string(invocation.operands[0]), "kind": .string(try invocation.needed("--kind")),
    ]
    for name in ["level", "life"] {
      guard let text = invocation.value("--\(name)") else { continue }
      guard let number = Int64(text) else {
        throw Failure.usage("--\(name) takes a number, and not \"\(text)\"")
      }
      arguments[name] = .number(JSONNumber(number))
    }
    AccountVerbs.set(&arguments, "gate", invocation.value("--gate"))
    return arguments
  }

  private static let list = AccountVerbs.verb(
    "challenge list", "lists the named challenges", as: "challenge/list")

  private static let remove = AccountVerbs.verb(
    "challenge remove", [Operand("NAME")], [], "removes a named challenge", as: "challenge/remove"
  ) { ["name": .string($0.operands[0])] }

  private static let risks: [Verb] = [
    AccountVerbs.verb(
      "risk add", [Operand("NAME")],
      [
        Option("--when", "CONDITION", help: "such as failed, or accounts-of-device/hour > 3"),
        Option("--level", "LEVEL", help: "low, medium or high"),
        Option("--reason", "TEXT", help: "a text for the judgement, at most 80 bytes"),
        Option("--event", "NUMBER|FIRST-LAST", help: "the events it is for; each if missing"),
      ], "adds a rule that rates the risk of an event", as: "risk/add"
    ) { invocation in
      var arguments: JSONObject = ["name": .string(invocation.operands[0])]
      for name in ["when", "level", "reason"] {
        arguments[name] = .string(try invocation.needed("--\(name)"))
      }
      AccountVerbs.set(&arguments, "numbers", invocation.value("--event"))
      return arguments
    },
    AccountVerbs.verb("risk list", "lists the rules of risk", as: "risk/list"),
    AccountVerbs.verb(
      "risk remove", [Operand("NAME")], [], "removes a rule of risk", as: "risk/remove"
    ) { ["name": .string($0.operands[0])] },
  ]

  private static let watch = AccountVerbs.verb(
    "gate watch", [Operand("NAME", .optional), Operand("on|off")],
    [Option("--all", help: "each gate of the account, instead of NAME")],
    "on: a gate logs refusals and lets requests pass; off: it refuses again",
    as: "gate/watch"
  ) { invocation in
    let word = invocation.operands[invocation.operands.count - 1]
    guard word == "on" || word == "off" else {
      throw Failure.usage("\"\(word)\" is no such thing; write on or off")
    }
    let isAll = invocation.has("--all")
    guard isAll == (invocation.operands.count == 1) else {
      throw Failure.usage("name one gate, or write --all and no name")
    }
    var arguments: JSONObject = ["watch": .bool(word == "on"), "all": .bool(isAll)]
    if !isAll { arguments["name"] = .string(invocation.operands[0]) }
    return arguments
  }
}
