// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The verbs of the sample app.
enum AppVerb {
  case enrol
  case fetch
  case show
  case diagnose
  case records
  case command(Command, ProofKind, sealing: Sealing)
  case carry(SignedOrder)
  case name
  case lend(TokenDigest, uses: UInt16)
  case takeBack(TokenDigest)
  case bring(Delegation)
  case log(isProved: Bool)
  case forget

  /// How a command goes over the air.
  enum Sealing {
    case none
    case once
    /// Twice over one link, the second time in the channel that the first one has opened.
    case twice
  }

  static let help = """
    enrol          gets the account's configuration from the service
    fetch          has the service measure this app, and gets the lock's token from the backend
    open, close    a command of class 1, unlock
    status         a command of class 0, status
    autolock N     a command of class 2, settings
                   each with `device` behind it: proves the device alone
                   each with `sealed` at its end: hidden from who listens
                   each with `sealed twice`: two of it, the second one in a channel
    show           what is stored
    diagnose       what differs from the measurement
    records        what an operator registers an update with
    carry HEX      carries the backend's order to the lock
    name           what an owner lends to: the name of this app at the lock
    lend NAME N    lends N commands of class 1 to another app, for a day
    back NAME      takes back what was lent
    bring TEXT     brings what `lend` or `back` said to the lock
    log            asks for the status, and stores the lock's log in the folder log
    log unproved   asks for the log on a link that has proved nothing
    forget         gives up asking about an open command, after its user has looked at the lock
    """

  /// Parses words; nil if they are no verb.
  init?(_ words: [String]) {
    switch (words.first, words.count) {
    case ("enrol", 1): self = .enrol
    case ("fetch", 1): self = .fetch
    case ("show", 1): self = .show
    case ("diagnose", 1): self = .diagnose
    case ("records", 1): self = .records
    case ("log", 1): self = .log(isProved: true)
    case ("log", 2) where words[1] == "unproved": self = .log(isProved: false)
    case ("name", 1): self = .name
    case ("forget", 1): self = .forget
    case ("lend", 3):
      guard let name = Self.name(words[1]), let uses = UInt16(words[2]) else { return nil }
      self = .lend(name, uses: uses)
    case ("back", 2):
      guard let name = Self.name(words[1]) else { return nil }
      self = .takeBack(name)
    case ("bring", 2):
      guard let delegation = try? Delegation(text: words[1]) else { return nil }
      self = .bring(delegation)
    case ("carry", 2):
      guard let bytes = Hexadecimal.decode(words[1]), let order = try? SignedOrder(bytes) else {
        return nil
      }
      self = .carry(order)
    default:
      guard let command = Self.command(words) else { return nil }
      self = command
    }
  }

  private static func name(_ text: String) -> TokenDigest? {
    Hexadecimal.decode(text).flatMap { try? TokenDigest($0) }
  }

  private static func command(_ words: [String]) -> AppVerb? {
    var words = words
    var sealing = Sealing.none
    if words.suffix(2) == ["sealed", "twice"] {
      sealing = .twice
      words.removeLast(2)
    } else if words.last == "sealed" {
      sealing = .once
      words.removeLast()
    }
    let kind: ProofKind = words.last == "device" ? .device : .integrity
    if kind == .device { words.removeLast() }
    let number: UInt8
    switch (words.first, words.count) {
    case ("status", 1): number = 0
    case ("open", 1), ("close", 1): number = 1
    case ("autolock", 2): number = 2
    default: return nil
    }
    let text = Array(words.joined(separator: " ").utf8)
    guard let command = try? Command(text, class: CommandClass(number)) else { return nil }
    return .command(command, kind, sealing: sealing)
  }

  /// Whether it needs the link to the hardware.
  var needsLink: Bool {
    switch self {
    case .command, .carry, .bring, .log: true
    case .enrol, .fetch, .show, .diagnose, .records, .name, .lend, .takeBack, .forget: false
    }
  }
}
