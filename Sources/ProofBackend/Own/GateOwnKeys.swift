// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The keys that a gate derives from its own secrets, one for each use and secret: docs/SPEC.md, section 16.
///
/// The gate makes texts with the active secret, and takes texts of each secret that it holds. Rotate in three steps,
/// each on all nodes before the next one begins: give out the new secret, make it active, take the old one away after the
/// longest life of a text. No node then refuses what another one made.
public final class GateOwnKeys: Sendable {
  /// How many secrets a gate holds while it rotates.
  public static let secretCountMax = 4

  /// A use of the gate's own keys.
  package enum Use: UInt8, Sendable, CaseIterable {
    /// Words on the time.
    case nonce
    /// Ids of challenges.
    case challenge
    /// Clearances.
    case clearance
    /// Tickets.
    case ticket

    /// The label of the key.
    package var label: String {
      switch self {
      case .nonce: "pfc1.nonce-key.."
      case .challenge: "pfc1.chall-key.."
      case .clearance: "pfc1.clear-key.."
      case .ticket: "pfc1.ticket-key."
      }
    }
  }

  /// The gate.
  public let gate: GateID
  /// The number of the active secret.
  public let active: UInt8
  /// The key of the gate's beacons, from the active secret.
  public let beacons: BeaconKey
  private let sets: [Use: GateKeySet]
  private let secrets: [GateOwnSecret]

  /// Derives the keys of a gate.
  ///
  /// - Parameters:
  ///   - gate: The gate.
  ///   - secrets: One to four secrets with different numbers.
  ///   - active: The number of the one that texts are made with; nil for the first one.
  /// - Throws: ``/ProofModel/ProofError/outOfRange(field:value:allowed:)``.
  public init(
    of gate: GateID, _ secrets: [GateOwnSecret], active: UInt8? = nil
  ) throws(ProofError) {
    let numbers = secrets.map(\.number)
    guard (1...Self.secretCountMax).contains(secrets.count), Set(numbers).count == numbers.count
    else {
      throw .outOfRange(
        field: "numbers of a gate's own secrets", value: "\(numbers)",
        allowed: "one to \(Self.secretCountMax) different numbers")
    }
    guard let first = secrets.first(where: { $0.number == active ?? numbers[0] }) else {
      throw .outOfRange(
        field: "number of the active secret", value: "\(active ?? 0)", allowed: "one of \(numbers)")
    }
    self.gate = gate
    self.active = first.number
    self.secrets = [first] + secrets.filter { $0.number != first.number }
    beacons = try BeaconKey(from: first.bytes, number: first.number, of: gate)
    var sets: [Use: GateKeySet] = [:]
    for use in Use.allCases {
      sets[use] = GateKeySet(self.secrets.map { Self.key(use.label, $0, gate) })
    }
    self.sets = sets
  }

  /// The keys of one use.
  package subscript(use: Use) -> GateKeySet {
    guard let set = sets[use] else { preconditionFailure("Each use has its keys.") }
    return set
  }

  /// The keys with which the gate vouches for its verdicts on the requests of one host. The host's API gets them, so
  /// the host is part of the derivation: an API cannot make verdicts of another one's.
  package func verdictKeySet(for host: String) -> GateKeySet {
    GateKeySet(secrets.map { Self.key("pfc1.verdict-key", $0, gate, Array(host.utf8)) })
  }

  private static func key(
    _ label: String, _ secret: GateOwnSecret, _ gate: GateID, _ more: [UInt8] = []
  ) -> GateKey {
    let info = gate.bytes + [secret.number] + more
    return GateKey(
      CoreCrypto.derive(label: label, key: secret.bytes, info: info.span), number: secret.number)
  }
}

extension GateOwnKeys: CustomStringConvertible, CustomReflectable {
  /// The gate and the number of the active secret; never a key.
  public var description: String { "GateOwnKeys(\(gate), active \(active))" }

  /// Shows the public part.
  public var customMirror: Mirror { Mirror(self, children: ["gate": gate, "active": active]) }
}

/// One of a gate's own keys, for one use. Secret.
package final class GateKey: Sendable {
  /// How many bytes of an HMAC a text carries.
  package static let tagByteCount = 16

  /// The number of the secret that it was derived from.
  package let number: UInt8
  private let bytes: SecretBytes

  package init(_ bytes: consuming SecretBytes, number: UInt8) {
    self.bytes = bytes
    self.number = number
  }

  /// HMAC-SHA-256 of a label and a text.
  package func mac(_ label: StaticString, _ text: [UInt8]) -> Digest {
    precondition(label.utf8CodeUnitCount == 16, "A label has 16 bytes.")
    var message: [UInt8] = []
    message.reserveCapacity(16 + text.count)
    message += label.description.utf8
    message += text
    return bytes.withBytes { CoreCrypto.hmac(key: $0, message.span) }
  }

  /// The first 16 bytes of the same.
  package func tag(_ label: StaticString, _ text: [UInt8]) -> [UInt8] {
    Array(mac(label, text).bytes.prefix(Self.tagByteCount))
  }

  /// Whether a tag is that of a text, in constant time.
  package func isTag(
    _ tag: some Collection<UInt8>, of text: [UInt8], _ label: StaticString
  ) -> Bool {
    CoreCrypto.equal(self.tag(label, text).span, Array(tag).span)
  }

  /// Lends the key's bytes, for as long as the closure runs.
  package func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    try bytes.withBytes(body)
  }
}

/// A gate's own keys of one use, the active one first.
package struct GateKeySet: Sendable {
  /// The keys, at least one.
  package let keys: [GateKey]

  package init(_ keys: [GateKey]) { self.keys = keys }

  /// The one that texts are made with.
  package var active: GateKey { keys[0] }

  /// The key of a number; nil if the gate does not hold it.
  package func key(_ number: UInt8) -> GateKey? { keys.first { $0.number == number } }
}
