// SPDX-License-Identifier: Apache-2.0

package import ProofBackend

/// A challenge that an operator has named, so that apps can ask for it at any time.
package struct PageChallenge: Sendable, Hashable {
  /// The name, as the path has it.
  package let name: String
  /// The kind.
  package let kind: ChallengeKind
  /// The level; 0 for kinds without levels.
  package let level: UInt8
  /// Seconds until it has to be answered; nil for the kind's own.
  package let life: UInt32?

  package init(_ name: String, _ kind: ChallengeKind, level: UInt8 = 0, life: UInt32? = nil) {
    self.name = name
    self.kind = kind
    self.level = level
    self.life = life
  }

  /// A named challenge of a gate's configuration.
  package init(_ named: GateConfiguration.NamedChallenge) {
    let kind: ChallengeKind =
      switch named.kind {
      case .token: .token
      case .proof: .proof
      case .work: .work
      case .memory: .memoryWork
      case .person: .person
      }
    self.init(
      named.name, kind, level: UInt8(clamping: named.level), life: UInt32(clamping: named.life))
  }
}

/// The settings of a gate's page.
package struct PageSettings: Sendable {
  /// The page of an operator in the place of the gate's own.
  package enum Custom: Sendable, Hashable {
    /// A document with the places `{{nonce}}` and `{{data}}`.
    case document([UInt8])
    /// An address that the browser is sent to, with the query of the page.
    case address(String)
  }

  /// The origins that may frame the page and get its result, beside the page's own.
  package var origins: [String] = []
  /// The operator's page; nil for the gate's own.
  package var custom: Custom?
  /// The level of the work that a picture costs.
  package var pictureLevel: UInt8 = 11
  /// The level of the memory work that stands for a picture.
  package var longLevel: UInt8 = 4

  package init() {}

  /// Whether a text is an origin over https, as browsers write it: in lower case, with a port only if it is another one
  /// than 443.
  package static func isOrigin(_ text: String) -> Bool {
    let scheme = "https://"
    guard text.utf8.starts(with: scheme.utf8), text.utf8.count <= 260 else { return false }
    let authority = String(text.dropFirst(scheme.count))
    let isPlain = authority.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
        true
      default: false
      }
    }
    return isPlain && RequestDoor.authority(authority) == authority
  }

  /// The origin of an address over https; nil for any other text.
  package static func origin(ofAddress text: String) -> String? {
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\\\"<>#".utf8.contains($0) })
    else { return nil }
    let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[0] == "https:", parts[1].isEmpty else { return nil }
    let origin = "https://" + parts[2].prefix { $0 != "?" }
    return isOrigin(origin) ? origin : nil
  }
}
