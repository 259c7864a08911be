// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// The account's secret from which each installation's ``StringKey`` is derived. The service stores
/// nothing for an installation.
final class StringSecret: Sendable {
  static let byteCount = 32

  private let bytes: SecretBytes

  private init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

  /// The active secret, and the one before until it is retired.
  static func all(
    of account: Account, in rows: any RowReader
  ) throws(ServiceError) -> [StringSecret] {
    let place = AccountDocument.stringKey
    let stages = try place.needed(KeyStages.self, from: rows)
    guard let active = stages.active else { throw place.damage }
    var secrets: [StringSecret] = []
    for key in [active, stages.old].compactMap({ $0 }) {
      let secret = try account.vault.open(key.sealed, for: place.rawValue)
      guard secret.count == byteCount else { throw place.damage }
      secrets.append(StringSecret(secret.withBytes { SecretBytes(copying: $0) }))
    }
    return secrets
  }

  /// The key of an installation; for an app that fails, one that opens nothing.
  func key(of device: InstanceID, isPassed: Bool) -> StringKey {
    isPassed ? .key(of: device, from: bytes) : .decoy(of: device, from: bytes)
  }
}
