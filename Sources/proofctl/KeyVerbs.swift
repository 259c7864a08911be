// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import ProofJOSE
import ProofService

/// The verbs about the account's own keys, key sets and management tokens.
enum KeyVerbs {
  static let all: [Verb] =
    OwnKey.allCases.flatMap { own($0) } + [messageKeyRemove] + developmentKey + management + keySets

  static let atOnce = Option(
    "--at-once", help: "for a compromised key: valid tokens may be refused")
  private static let base64url = Option("--base64url", help: "in base64url instead of base64")

  private static func encoding(_ invocation: Invocation) -> JSONObject {
    ["encoding": invocation.has("--base64url") ? "base64url" : "base64"]
  }

  private static func purpose(_ kind: OwnKey) -> String {
    switch kind {
    case .secret: "the secret of HS256, for API backends"
    case .custom: "the key of custom tokens, for those who read them"
    case .sealing: "the key that seals tokens, for API backends"
    case .message: "the key that apps sign messages with, for API backends"
    }
  }

  /// The verbs of one kind. Each kind is rotated by the same steps.
  private static func own(_ kind: OwnKey) -> [Verb] {
    let noun = kind.rawValue
    let printable =
      kind == .secret ? [Option("--printable", help: "a secret of printable characters")] : []
    @Sendable func drawn(_ invocation: Invocation) -> JSONObject {
      invocation.has("--printable") ? ["printable": .bool(true)] : [:]
    }
    @Sendable func step(_ invocation: Invocation) -> JSONObject {
      ["atOnce": .bool(invocation.has("--at-once"))]
    }
    return [
      AccountVerbs.verb(
        "\(noun) get", [], [base64url], "shows \(purpose(kind))", as: "\(noun)/get", encoding),
      AccountVerbs.verb(
        "\(noun) list", "shows which keys there are, without secrets", as: "\(noun)/list"),
      AccountVerbs.verb(
        "\(noun) next", [], printable, "creates the next key, which makes no token yet",
        as: "\(noun)/next", drawn),
      keys(noun),
      AccountVerbs.verb(
        "\(noun) promote", [], [atOnce], "makes tokens with the next key from now on",
        as: "\(noun)/promote", step),
      AccountVerbs.verb(
        "\(noun) retire", [], [atOnce], "drops the old key, when its last token has ended",
        as: "\(noun)/retire", step),
      AccountVerbs.verb("\(noun) drop", "forgets the next key", as: "\(noun)/drop"),
      AccountVerbs.verb(
        "\(noun) change", [], printable + [atOnce],
        "replaces all keys at once, after a compromise", as: "\(noun)/change"
      ) { drawn($0).merging(step($0)) },
    ]
  }

  private static func keys(_ noun: String) -> Verb {
    Verb(
      "\(noun) keys", [], [output],
      "hands out all keys that tokens are checked with, a JWKS"
    ) { invocation in
      let answer = try AccountAccess(invocation).perform("\(noun)/keys")
      return try written(answer, invocation)
    }
  }

  private static let output = Option(
    "--output", "FILE", help: "writes the file, or replaces it in one step, for its owner alone")

  /// A key or a set of keys, shown or written to a file that backends read.
  private static func written(_ answer: JSONValue, _ invocation: Invocation) throws -> Answer {
    guard let path = invocation.value("--output") else { return Answer(answer, text: answer.text) }
    try SecretFile.replace(path, Array(answer.text.utf8).span)
    return Answer(["keys": .string("in \(path)")])
  }

  private static let messageKeyRemove = AccountVerbs.verb(
    "messagekey remove", "apps sign messages no more", as: "messagekey/remove")

  private static let developmentKey: [Verb] = [
    AccountVerbs.verb("devkey get", "shows the development key", as: "devkey/get"),
    AccountVerbs.verb("devkey change", "creates a new development key", as: "devkey/change"),
    AccountVerbs.verb("devkey remove", "removes the development key", as: "devkey/remove"),
  ]

  // MARK: Management tokens

  private static let management: [Verb] = [
    Verb(
      "management add", [Operand("NAME")],
      [
        Option("--role", "ROLE", help: "all, read, hardware or enrol"),
        Option("--output", "FILE", help: "writes the token there; else it is shown"),
      ], "creates another management token"
    ) { invocation in
      let role = try invocation.needed("--role")
      return try token(
        invocation, "management/add",
        ["name": .string(invocation.operands[0]), "role": .string(role)])
    },
    AccountVerbs.verb("management list", "lists the management tokens", as: "management/list"),
    Verb(
      "management change", [Operand("NAME", .optional)],
      [Option("--output", "FILE", help: "writes the token there; else it is shown")],
      "replaces the text of a token (owner if no NAME); the old one is refused"
    ) { invocation in
      try token(
        invocation, "management/change",
        invocation.operand(0).map { ["name": .string($0)] } ?? [:])
    },
    AccountVerbs.verb(
      "management remove", [Operand("NAME")], [], "refuses a token from now on",
      as: "management/remove"
    ) { ["name": .string($0.operands[0])] },
  ]

  private static func token(
    _ invocation: Invocation, _ verb: String, _ arguments: JSONObject
  ) throws -> Answer {
    let answer = try AccountAccess(invocation).perform(verb, arguments)
    guard let path = invocation.value("--output"), case .object(let object) = answer,
      let token = object.text("token")
    else { return Answer(answer) }
    do { try SecretFile.replace(path, Array(token.utf8).span) } catch {
      throw Failure(
        "\(error) The token was drawn and is lost: \"proofctl management change\" draws "
          + "another one.")
    }
    return Answer(["token": .string("in \(path)")])
  }

  // MARK: Key sets

  private static let keySets: [Verb] = [
    AccountVerbs.verb(
      "keyset add", [Operand("ALGORITHM")],
      [Option("--kid", "NAME", help: "its name; the next number if missing")]
        + KeySetFiles.options,
      "makes a key (HS256, ES256, EdDSA, RS256, dir, A256KW), or adds a backend's public one",
      as: "keyset/add"
    ) { invocation in
      var arguments: JSONObject = ["alg": .string(invocation.operands[0])]
      AccountVerbs.set(&arguments, "kid", invocation.value("--kid"))
      try KeySetFiles.add(invocation, to: &arguments)
      return arguments
    },
    KeySetFiles.generate,
    AccountVerbs.verb("keyset list", "lists the keys", as: "keyset/list"),
    KeySetFiles.get,
    AccountVerbs.verb(
      "keyset change", [Operand("KID"), Operand("NEW-KID")], [atOnce],
      "makes the tokens of all APIs that have a key with another one", as: "keyset/change"
    ) {
      [
        "kid": .string($0.operands[0]), "to": .string($0.operands[1]),
        "atOnce": .bool($0.has("--at-once")),
      ]
    },
    AccountVerbs.verb(
      "keyset remove", [Operand("KID")], [atOnce],
      "removes a key that no API has, when its last token has ended", as: "keyset/remove"
    ) { ["kid": .string($0.operands[0]), "atOnce": .bool($0.has("--at-once"))] },
    Verb("keyset jwks", [], [], "shows the public keys, a JWKS") { invocation in
      let keys = try AccountAccess(invocation).perform("keyset/jwks")
      return Answer(keys, text: keys.text)
    },
  ]
}

extension JSONObject {
  fileprivate func merging(_ other: JSONObject) -> JSONObject {
    var merged = self
    for (name, value) in other.members { merged[name] = value }
    return merged
  }
}
