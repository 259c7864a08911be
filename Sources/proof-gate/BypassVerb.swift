// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import ProofGate
import ProofJOSE
import ProofModel

/// Verbs that draw a token and add its digest to a file.
struct BypassVerb {
  /// `proof-gate bypass`: draws an emergency token.
  static let emergency = BypassVerb(
    name: "bypass", secondsMax: 604_800, option: "--bypass-file",
    """
    Draws an emergency token, adds its digest to FILE, and shows the token. A request with the field Proof-Bypass
    passes by it until it ends. SIGHUP makes a gate read the file again. To take a token back, remove its line.
    """)
  /// `proof-gate event-credential`: draws a credential with which a backend redeems event tokens.
  static let event = BypassVerb(
    name: "event-credential", secondsMax: 31_622_400, option: "--event-credentials",
    """
    Draws a credential, adds its digest to FILE, and shows the credential. A backend redeems event tokens with it until
    it ends. SIGHUP makes a gate read the file again. To take a credential back, remove its line.
    """)

  private let name: String
  private let secondsMax: Int64
  private let usage: Usage

  private init(name: String, secondsMax: Int64, option: String, _ text: String) {
    self.name = name
    self.secondsMax = secondsMax
    usage = Usage(
      "proof-gate \(name)", "--file FILE --seconds N NAME", text,
      [
        Option("--file", "FILE", help: "what the gate's \(option) names; made if missing"),
        Option("--seconds", "N", help: "how long it counts: 60 to \(secondsMax)"),
      ], takesOperands: true)
  }

  private struct Wish {
    let file: String
    let seconds: Int64
    let name: String
  }

  func draw(_ arguments: some Collection<String>) -> Never {
    let wish = usage.made(of: arguments) { options throws(UsageError) in
      let file = try options.needed("--file")
      guard let seconds: Int64 = try options.number("--seconds", within: 60...secondsMax) else {
        throw UsageError("--seconds is missing: say how long it counts")
      }
      guard options.operands.count == 1, BypassFile.isName(options.operands[0]) else {
        throw UsageError("name the token: 1 to 32 letters, digits, hyphens, dots and underscores")
      }
      return Wish(file: file, seconds: seconds, name: options.operands[0])
    }
    do {
      let token = try Self.fresh()
      try Self.add(token, wish)
      print(token)
      Terminal.end(0)
    } catch {
      Terminal.complain("proof-gate \(name): \(error)")
      Terminal.end(1)
    }
  }

  private static func fresh() throws -> String {
    var bytes: [UInt8] = []
    try JOSESecret.random(count: 32).withBytes { (random: Span<UInt8>) -> Void in
      for index in 0..<random.count { bytes.append(random[index]) }
    }
    return Base64.encode(bytes, .url)
  }

  private static func add(_ token: String, _ wish: Wish) throws {
    var text: [UInt8] = []
    do {
      text = try SecretFile.read(wish.file, limit: BypassFile.byteCountMax)
    } catch {
      // The first token makes the file.
      guard error.isMissing else { throw error }
    }
    if let last = text.last, last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
    let end = UnixTime.now + wish.seconds
    text += Array(BypassFile.line(for: token, named: wish.name, until: end).utf8)
    _ = try BypassFile(text)
    try SecretFile.replace(wish.file, text.span)
  }
}
