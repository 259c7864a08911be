// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import EventServing
import ProofBackend
import ProofGate
import ProofJOSE
import ProofModel

/// The verbs beside serving.
enum GateVerbs {
  // MARK: Prepare

  private static let preparing = Usage(
    "proof-gate prepare", "FOLDER",
    "Makes the own secret (own.key) and the replay stores (replay, events) of a new gate, once.",
    [], takesOperands: true)

  static func prepare(_ arguments: some Collection<String>) -> Never {
    let folder = preparing.made(of: arguments) { try operand($0, "name one folder") }
    run("prepare") {
      _ = try LiveFolder(folder)
      let random = try JOSESecret.random(count: GateOwnSecret.byteCount)
      try random.withBytes { (bytes: Span<UInt8>) throws(FileFailure) -> Void in
        try SecretFile.create(folder + "/own.key", bytes)
      }
      _ = try JournalReplayStore(provisioning: folder + "/replay")
      _ = try SQLiteReplayStore(provisioning: folder + "/events")
      return true
    }
  }

  // MARK: Verdict keys

  private static let handing = Usage(
    "proof-gate verdict-key",
    "--configuration FILE --fingerprint BASE64 --own-secret N:FILE,… --output FILE HOST",
    """
    Writes the keys with which the API of one host checks verdicts: a number and 64 hexadecimal digits a line,
    the active one first.
    """,
    GateFiles.identityOptions + [
      Option("--output", "FILE", help: "a new file, for its owner alone")
    ],
    takesOperands: true)

  private struct Wish {
    let configuration: String
    let fingerprint: Digest
    let secrets: [(number: UInt8, file: String)]
    let output: String
    let host: String
  }

  static func verdictKey(_ arguments: some Collection<String>) -> Never {
    let wish = handing.made(of: arguments) { options in
      Wish(
        configuration: try options.needed("--configuration"),
        fingerprint: try GateFiles.fingerprint(options),
        secrets: try GateFiles.ownSecrets(options), output: try options.needed("--output"),
        host: try operand(options, "name one host"))
    }
    run("verdict-key") {
      let configuration = try GateFiles.configuration(wish.configuration, wish.fingerprint)
      guard configuration.hosts.contains(wish.host) else {
        throw GateFailure(
          "the account does not list the host \(wish.host) for this gate: it lists"
            + " \(configuration.hosts.joined(separator: ", "))")
      }
      let own = try GateFiles.own(wish.secrets, of: configuration.gate)
      var text: [UInt8] = []
      for (key, secret) in zip(own.verdictKeys(for: wish.host), wish.secrets) {
        text += Array("\(secret.number) \(key.text)\n".utf8)
      }
      try SecretFile.create(wish.output, text.span)
      return true
    }
  }

  // MARK: Check

  private static let checking = Usage(
    "proof-gate check", "--configuration FILE … --routes FILE REQUEST-FILE",
    """
    Judges a request from a file, as the client sends it: the line of method and target, then its header. The
    proof and its event token are not used up, and no earlier use is looked up. A gate token must be there. Ends with
    0 for a request that passes, and with 1 for one that does not.
    """, GateFiles.known + [EventOptions.audienceOption], takesOperands: true)

  static func check(_ arguments: some Collection<String>) -> Never {
    NginxVerb.check(arguments)
    let (files, audience, file) = checking.made(of: arguments) { options in
      (
        try GateFiles(options), options.value(EventOptions.audienceOption.name),
        try operand(options, "name one file with a request")
      )
    }
    run("check") {
      guard let bytes = try SmallFile.read(file, limit: 65_536) else {
        throw GateFailure("there is no file \(file)")
      }
      let lines = try RequestText.lines(of: bytes, in: files.style)
      let replay = DryReplayStore()
      let events = try GateFiles.routes(files.routes).needsEvents
      let gate = try files.read(
        replay, events ? EventPlace(audience: audience, store: replay) : nil, after: nil
      ).gate
      let answer = gate.answer(lines, from: nil, at: .now)
      print("route: \(answer.route)")
      print("status: \(answer.status)\(answer.isWatched ? " (only watched)" : "")")
      print("reason: \(answer.reason ?? answer.code)")
      if let handle = answer.handle { print("app: \(handle)") }
      return answer.status == 200 && !answer.isWatched
    }
  }

  // MARK: Common parts

  private static func operand(_ options: Options, _ words: String) throws(UsageError) -> String {
    guard options.operands.count == 1 else { throw UsageError(words) }
    return options.operands[0]
  }

  private static func run(_ verb: String, _ body: () throws -> Bool) -> Never {
    do {
      Terminal.end(try body() ? 0 : 1)
    } catch {
      Terminal.complain("proof-gate \(verb): \(error)")
      Terminal.end(1)
    }
  }
}

/// A request as a client sends it, in a file.
enum RequestText {
  /// The header of a proxy's question about it.
  static func lines(
    of bytes: [UInt8], in style: ForwardStyle
  ) throws(GateFailure) -> [(name: String, value: String)] {
    var rest = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
      .prefix { !$0.isEmpty }
      .map { String(decoding: $0, as: UTF8.self) }[...]
    let words = (rest.popFirst() ?? "").split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3 else {
      throw GateFailure("line 1 of the request: write METHOD TARGET HTTP/1.1")
    }
    var host = ""
    var fields: [(name: String, value: String)] = []
    for (index, line) in rest.enumerated() {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        throw GateFailure("line \(index + 2) of the request: write NAME: VALUE")
      }
      let value = parts[1].drop { $0 == " " || $0 == "\t" }
      if parts[0].lowercased() == "host" { host = String(value) }
      fields.append((String(parts[0]), String(value)))
    }
    let told = style.told(method: String(words[0]), target: String(words[1]), host: host)
    return told + fields
  }
}

/// A replay store for a dry run: each proof and event counts as new, and none is used up.
struct DryReplayStore: RedemptionStore {
  func begin(at now: UnixTime) -> ReplayMemory { ReplayMemory(highest: 0, gap: nil) }

  func insert(_ key: ReplayKey, until expiry: UnixTime, at now: UnixTime) -> Bool { true }

  func judgement(under name: ReplayKey) -> [UInt8]? { nil }

  func record(
    _ record: ReplayRecord, using key: ReplayKey?, until expiry: UnixTime, at now: UnixTime
  ) -> ReplayRecording { .recorded }

  func redeem(
    _ redemption: Redemption, at now: UnixTime, _ judged: (EventCounts) -> [UInt8]
  ) -> RedemptionEnd {
    let counts = EventCounts()
    _ = judged(counts)
    return .redeemed(counts)
  }

  func forget(account: ReplayKey) -> Int { 0 }
}
