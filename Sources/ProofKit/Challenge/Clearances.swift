// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The clearances that a session holds now, one for each host. Only the newest of a host counts.
struct Clearances: Sendable {
  /// One clearance: docs/SPEC.md, section 16.
  struct Held: Sendable, Hashable {
    let text: String
    /// When the SDK sends it no longer, in uptime.
    let end: Duration
    private let kinds: UInt8
    private let workLevel: UInt8
    private let memoryWorkLevel: UInt8

    private static let lifeMax: Int64 = 3600
    private static let margin: Int64 = 2

    /// Takes a clearance for a host; nil for another text, another host's, another app's, and one that has expired.
    ///
    /// - Parameters:
    ///   - text: The text that the gate sent.
    ///   - authority: The host that the connection was made to.
    ///   - handle: The app's handle.
    ///   - time: The gate's time.
    ///   - now: The same moment in uptime.
    init?(
      _ text: String, for authority: String, _ handle: GateHandle, _ time: UnixTime,
      _ now: Duration
    ) {
      typealias Wire = ClearanceWire
      guard text.utf8.count == Wire.characterCount, let bytes = Base64.decode(text, .url),
        bytes[0] == Wire.head, bytes[Wire.kindsAt] != 0,
        bytes[Wire.flagsAt] & ~Wire.appFlag == 0, bytes[Wire.flagsAt + 1] == 0
      else { return nil }
      let host = Wire.host(authority)
      guard bytes[Wire.hostAt..<Wire.holderAt].elementsEqual(host) else { return nil }
      let isOfApp = bytes[Wire.flagsAt] == Wire.appFlag
      guard !isOfApp || bytes[Wire.holderAt..<Wire.tagAt].elementsEqual(handle.bytes) else {
        return nil
      }
      let expiry = Int64(littleEndianBytes: bytes[Wire.expiryAt..<Wire.startAt])
      let life = min(expiry - time.seconds, Self.lifeMax) - Self.margin
      guard life > 0 else { return nil }
      self.text = text
      end = now + .seconds(life)
      kinds = bytes[Wire.kindsAt]
      workLevel = bytes[Wire.levelsAt] & Wire.workLevelMask
      memoryWorkLevel = bytes[Wire.levelsAt] >> Wire.workLevelBits
    }

    /// Whether the gate has noted an answer to such a challenge.
    func serves(_ challenge: GateClient.Challenge) -> Bool {
      guard kinds & 1 << (challenge.kind.rawValue - 5) != 0 else { return false }
      return switch challenge.kind {
      case .work: workLevel >= challenge.level
      case .memoryWork: memoryWorkLevel >= challenge.level
      default: true
      }
    }
  }

  private var held: [String: Held] = [:]

  /// The clearance for a host that counts now.
  mutating func text(for authority: String, at now: Duration) -> Held? {
    guard let found = held[authority] else { return nil }
    guard now < found.end else {
      held[authority] = nil
      return nil
    }
    return found
  }

  /// Takes the newest clearance of a host.
  mutating func take(_ clearance: Held, for authority: String) { held[authority] = clearance }

  /// Forgets all of them.
  mutating func drop() { held = [:] }
}
