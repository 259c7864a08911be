// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The account's strings and the app's own.
///
/// The account defines strings for all its apps; the service hands them out. The app defines strings for
/// itself; the device holds them, sealed. Where both have a name, the app's own counts.
///
/// Each call asks the service for the installation's key, and the SDK keeps the key for
/// ``AttestorTimes/life`` at most, while the environment stays the same. An app that passes gets the same
/// key for as long as it is installed. An app that fails gets none of the account's strings, and another
/// key: what it defined before is not there, and what it defines now is not there later.
public struct SecureStrings: Sendable {
  private let attestor: Attestor
  private let store: SecureStringStore

  init(_ attestor: Attestor, _ store: SecureStringStore) {
    self.attestor = attestor
    self.store = store
  }

  /// Reads a string: the app's own, else the account's.
  ///
  /// - Parameter name: The string's name: 1 to 64 characters.
  /// - Returns: The string.
  /// - Throws: ``SecureStringError``; ``SecureStringError/notThere(name:)`` if neither the app nor the
  ///   account defines it.
  public func string(named name: String) async throws(SecureStringError) -> SecureString {
    do throws(SecureStringError) {
      return try await ownString(named: name)
    } catch {
      guard case .notThere = error else { throw error }
      return try await accountString(named: name, or: error)
    }
  }

  /// Reads a string of the account.
  private func accountString(
    named name: String, or missing: SecureStringError
  ) async throws(SecureStringError) -> SecureString {
    let result: FetchResult
    do throws(AttestationError) {
      result = try await attestor.outcome(FetchRequest.secureString(name, newDefinition: nil))
    } catch {
      switch error.reason {
      case .unknownString: throw missing
      case .cancelled: throw .cancelled
      default: throw .attestation(error)
      }
    }
    guard let text = result.secureString else { throw missing }
    return SecureString(
      SecretBytes(count: text.utf8.count) { bytes in
        for (index, byte) in text.utf8.enumerated() { bytes[index] = byte }
      })
  }

  /// Reads a string of the app's own.
  package func ownString(named name: String) async throws(SecureStringError) -> SecureString {
    try Self.check(name)
    return try await Self.apart(session()) { [store] session throws(SecureStringError) in
      SecureString(try store.string(named: name, of: session.account, with: session.keys))
    }
  }

  /// Defines a string, or replaces it. It survives restarts and updates of the app.
  ///
  /// - Parameters:
  ///   - name: The string's name: 1 to 64 characters.
  ///   - text: The value: 1 to 65,535 bytes of UTF-8.
  /// - Throws: ``SecureStringError``; ``SecureStringError/noRoom(_:)`` if it does not fit.
  public func define(_ name: String, as text: String) async throws(SecureStringError) {
    try Self.check(name)
    let value = Value(try Self.checked(text))
    try await Self.apart(session()) { [store] session throws(SecureStringError) in
      try store.define(name, as: value.bytes, of: session.account, with: session.keys)
    }
  }

  /// Removes a string; removing none is no error.
  ///
  /// - Parameter name: The string's name: 1 to 64 characters.
  /// - Throws: ``SecureStringError``.
  public func remove(_ name: String) async throws(SecureStringError) {
    try Self.check(name)
    try await Self.apart(session()) { [store] session throws(SecureStringError) in
      try store.remove(name, of: session.account, with: session.keys)
    }
  }

  /// Removes all strings of the app's own from the device, whatever their state. Needs no network.
  ///
  /// - Throws: ``SecureStringError``.
  public func erase() async throws(SecureStringError) {
    guard let account = attestor.account else {
      throw .attestation(AttestationError(.notInitialized))
    }
    try await CorePool.fetches.value(orIfCancelled: SecureStringError.cancelled) {
      [store] _ throws(SecureStringError) in try store.erase(account)
    }
  }

  // MARK: Keys

  /// The account, and its keys for this installation, the active one first.
  private struct Session: Sendable {
    let account: String
    let keys: [StringKey]
  }

  private final class Value: Sendable {
    let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
  }

  private func session() async throws(SecureStringError) -> Session {
    let account = attestor.account
    let result: FetchResult
    do throws(CancellationError) {
      result = try await attestor.fetch(FetchRequest.stringKey)
    } catch {
      throw .cancelled
    }
    return try session(of: account, result)
  }

  private func session(
    of account: String?, _ result: FetchResult
  ) throws(SecureStringError) -> Session {
    guard let account, result.status == .success, !result.stringKeys.isEmpty else {
      throw .attestation(AttestationError(result))
    }
    guard attestor.account == account else {
      throw .attestation(AttestationError(.notInitialized, "the account was changed: try again"))
    }
    return Session(account: account, keys: result.stringKeys)
  }

  /// Works with files on a thread of the library: a wait for another process must not hold one of Swift's
  /// pool.
  private static func apart<Value: Sendable>(
    _ session: Session, _ body: @escaping @Sendable (Session) throws(SecureStringError) -> Value
  ) async throws(SecureStringError) -> Value {
    try await CorePool.fetches.value(orIfCancelled: SecureStringError.cancelled) {
      _ throws(SecureStringError) in try body(session)
    }
  }

  private static func check(_ name: String) throws(SecureStringError) {
    let count = name.unicodeScalars.count
    guard (1...SecureStringLimits.nameLength).contains(count) else {
      throw .badName(characterCount: count)
    }
  }

  private static func checked(_ text: String) throws(SecureStringError) -> SecretBytes {
    let count = text.utf8.count
    guard (1...SecureStringLimits.valueByteCount).contains(count) else {
      throw .badValue(byteCount: count)
    }
    return SecretBytes(count: count) { bytes in
      for (index, byte) in text.utf8.enumerated() { bytes[index] = byte }
    }
  }
}

extension Attestor {
  /// The account's strings and the app's own.
  public var secureStrings: SecureStrings {
    SecureStrings(self, SecureStringStore(folder: storage ?? ""))
  }

  /// The strings that this app defines for itself, in a folder of a test's own.
  package func secureStrings(in store: SecureStringStore) -> SecureStrings {
    SecureStrings(self, store)
  }
}
