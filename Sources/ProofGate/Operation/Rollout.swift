// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel

/// The share of clients for which a rule is enforced; for the others it watches.
package struct Rollout: Sendable, Hashable {
  /// All clients.
  package static let all = Rollout(percent: 100)

  /// The share in percent, 0 to 100.
  package let percent: Int

  /// A share in percent; nil for a number outside 0 to 100.
  package init?(_ percent: Int) {
    guard (0...100).contains(percent) else { return nil }
    self.percent = percent
  }

  private init(percent: Int) { self.percent = percent }

  /// Whether a client belongs to the share. It stays there while the share grows, and on all nodes. Each rule draws
  /// another share.
  ///
  /// - Parameters:
  ///   - handle: The client's handle in base64url; nil for a client without a valid proof.
  ///   - address: The client's address, which counts for a client without a handle.
  ///   - rule: The rule's name.
  /// - Returns: Whether the rule is enforced for it.
  package func takes(handle: String?, address: String?, rule: String) -> Bool {
    guard percent < 100 else { return true }
    guard percent > 0 else { return false }
    let client = handle ?? address.map(AddressPrefix.of) ?? ""
    let digest = Digest(hashing: Array("\(rule) \(client)".utf8)).bytes
    let number = digest.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return number % 10_000 < UInt32(percent) * 100
  }
}
