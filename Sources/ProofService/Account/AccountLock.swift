// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
internal import ProofModel

/// The secret that locks an account's keys: a passphrase, or the content of a key file.
public enum AccountLock: ~Copyable, Sendable {
  /// A passphrase. Argon2id derives a key from it.
  case passphrase(JOSESecret)
  /// A key file's content, at least 32 bytes.
  case keyFile(JOSESecret)

  var kind: String {
    switch self {
    case .passphrase: "passphrase"
    case .keyFile: "key file"
    }
  }
}

/// An account's key as it is stored: wrapped by a lock.
struct WrappedKey: Sendable {
  var kind: String
  var salt: [UInt8]
  var passes: UInt64
  var memory: Int
  var wrapped: [UInt8]

  /// libsodium's “interactive” and 64 MiB: about a tenth of a second, once at each start.
  static let passes: UInt64 = 2
  static let memory = 64 << 20
  /// Limits on the parameters in the file, so that a planted file cannot demand more.
  static let passesAllowed: ClosedRange<UInt64> = 1...16
  static let memoryAllowed = (8 << 10)...(1 << 30)

  private static let purpose = Array("pfs1.account-key".utf8)

  static func wrap(
    _ key: borrowing JOSESecret, by lock: borrowing AccountLock
  ) throws(ServiceError) -> WrappedKey {
    var result = WrappedKey(
      kind: lock.kind, salt: RandomSource.bytes(CoreSodium.passwordSaltByteCount),
      passes: passes, memory: memory, wrapped: [])
    let wrapping = try result.key(from: lock)
    result.wrapped = key.withBytes { CoreSodium.seal($0, purpose, key: wrapping) }
    return result
  }

  func open(with lock: borrowing AccountLock) throws(ServiceError) -> JOSESecret {
    guard lock.kind == kind else {
      throw .otherLock(expected: kind == "passphrase" ? "a passphrase" : "a key file")
    }
    let wrapping = try key(from: lock)
    guard let key = CoreSodium.open(wrapped, Self.purpose, key: wrapping),
      key.count == CoreSodium.keyByteCount
    else { throw kind == "passphrase" ? .wrongPassphrase : .wrongKeyFile }
    return key
  }

  private func key(from lock: borrowing AccountLock) throws(ServiceError) -> JOSESecret {
    guard salt.count == CoreSodium.passwordSaltByteCount, Self.passesAllowed.contains(passes),
      Self.memoryAllowed.contains(memory)
    else { throw .damaged("lock") }
    switch lock {
    case .passphrase(let passphrase):
      guard passphrase.count > 0 else {
        throw .invalid("passphrase", value: "", allowed: "at least one character")
      }
      guard
        let key = CoreSodium.stretch(passphrase, salt: salt, passes: passes, memory: memory)
      else { throw .noMemory }
      return key
    case .keyFile(let content):
      guard content.count >= 32 else {
        throw .invalid(
          "size of the key file", value: "\(content.count) bytes",
          allowed: "at least 32 random bytes")
      }
      return content.withBytes { bytes in
        let digest = CoreSodium.hash("pfs1.key-file...", salt + Array(copying: bytes))
        return JOSESecret(copying: digest.span)
      }
    }
  }
}
