// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// The document of the keys of challenges' salts: the active key, and the one before it.
///
/// Each key has an epoch, which grows by 1. A salt carries the two low bits of its key's epoch.
struct SaltKeyStages: Hashable, DocumentValue {
  /// The epoch of the active key.
  var epoch: UInt32
  var active: SealedKey
  /// The key of the epoch before. Its salts count until they expire.
  var old: SealedKey?

  init(epoch: UInt32 = 1, active: SealedKey) {
    self.epoch = epoch
    self.active = active
  }

  /// Reads the output of ``fields``. A document without epoch is that of an earlier version's
  /// account, which just got its first key.
  init?(_ fields: JSONObject) {
    guard let keys = KeyStages(fields), let active = keys.active, keys.next == nil,
      let epoch = UInt32(exactly: fields.integer("epoch") ?? 1)
    else { return nil }
    self.init(epoch: epoch, active: active)
    old = keys.old
  }

  var fields: JSONObject {
    var keys = KeyStages(active: active)
    keys.old = old
    var fields = keys.fields
    fields.set("epoch", Int64(epoch))
    return fields
  }

  var states: [KeyState] { [active.state(.active)] + (old.map { [$0.state(.old)] } ?? []) }

  /// Makes a key the active one, of the next epoch.
  mutating func begin(_ fresh: SealedKey, after old: SealedKey?) {
    self.old = old
    active = fresh
    epoch &+= 1
  }
}

/// A key of challenges' salts. Every process that serves the account has it.
final class SaltKey: Sendable {
  static let byteCount = CoreSodium.keyByteCount
  /// The low bits of its epoch.
  let epoch: UInt8

  private let key: JOSESecret

  init(_ key: consuming JOSESecret, epoch: UInt32) {
    self.key = key
    self.epoch = UInt8(epoch & 3)
  }

  /// The second half of the salt of these terms.
  func tag(_ terms: SaltTerms, _ fields: SaltFields, account: String) -> [UInt8] {
    let bytes = terms.authenticated(account: account) + fields.bytes
    return Array(key.mac("pfs1.salt-tag...", bytes).prefix(SaltFields.byteCount))
  }

  /// The secret of the credential that the challenge of a salt carries for a key in hardware. The
  /// report under the salt contains it, if the TPM opened the credential.
  func credentialSecret(_ salt: Salt, _ point: InstallationPoint) -> CredentialSecret {
    let bytes = key.mac("pfs1.salt-secret", salt.bytes + point.bytes)
    guard let secret = try? CredentialSecret(bytes) else {
      preconditionFailure("The count is right.")
    }
    return secret
  }

  /// Whether a report contains the secret of its challenge's credential for its key. An app that got
  /// no credential cannot know the secret.
  func isProved(_ claim: InstallationClaim, under salt: Salt) -> Bool {
    guard let secret = claim.secret else { return false }
    return CoreSodium.areEqual(secret.bytes, credentialSecret(salt, claim.point).bytes)
  }
}

/// The keys that a salt may be authenticated by.
struct SaltKeys: Sendable {
  let active: SaltKey
  let old: SaltKey?

  init(active: SaltKey, old: SaltKey?) {
    self.active = active
    self.old = old
  }

  init(of account: Account, in rows: any RowReader) throws(ServiceError) {
    let document = AccountDocument.saltKey
    let stages = try document.needed(SaltKeyStages.self, from: rows)
    func open(_ key: SealedKey, _ epoch: UInt32) throws(ServiceError) -> SaltKey {
      let secret = try account.vault.open(key.sealed, for: document.rawValue)
      guard secret.count == SaltKey.byteCount else { throw document.damage }
      return SaltKey(secret, epoch: epoch)
    }
    active = try open(stages.active, stages.epoch)
    old = try stages.old.map { old throws(ServiceError) in try open(old, stages.epoch &- 1) }
  }

  /// The key of an epoch's low bits; nil if it is retired.
  subscript(epoch: UInt8) -> SaltKey? {
    if active.epoch == epoch { return active }
    return old.flatMap { $0.epoch == epoch ? $0 : nil }
  }
}
