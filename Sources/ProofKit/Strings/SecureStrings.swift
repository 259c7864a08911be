// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The strings that an app defines for itself, held on the device.
///
/// Make one by ``Attestor/secureStrings(in:)``. Each call asks the service for the installation's key,
/// and the SDK keeps the key for ``AttestorTimes/life`` at most, while the environment stays the same.
/// An app that passes gets the same key for as long as it is installed. An app that fails gets
/// another key: what it defined before is not there, and what it defines now is not there later.
/// Strings that the account defines for all apps come by ``Attestor/fetchSecureString(_:newDefinition:)``.
public struct SecureStrings: Sendable {
  private let attestor: Attestor
  private let store: SecureStringStore

  init(_ attestor: Attestor, _ store: SecureStringStore) {
    self.attestor = attestor
    self.store = store
  }

  /// Reads a string.
  ///
  /// - Parameter name: The string's name: 1 to 64 characters.
  /// - Returns: The string.
  /// - Throws: ``SecureStringError``; ``SecureStringError/notThere(name:)`` if there is none.
  public func string(named name: String) async throws(SecureStringError) -> SecureString {
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

  // MARK: On the calling thread

  /// Reads a string, blocking the calling thread, otherwise as ``string(named:)``.
  ///
  /// - Parameters:
  ///   - name: The string's name.
  ///   - time: The longest wait for the service.
  /// - Returns: The string.
  /// - Throws: ``SecureStringError``.
  public func stringAndWait(
    named name: String, within time: Duration = AttestorTimes.wait
  ) throws(SecureStringError) -> SecureString {
    try Self.check(name)
    let session = try session(within: time)
    return SecureString(try store.string(named: name, of: session.account, with: session.keys))
  }

  /// Defines a string, blocking the calling thread, otherwise as ``define(_:as:)``.
  ///
  /// - Parameters:
  ///   - name: The string's name.
  ///   - text: The value.
  ///   - time: The longest wait for the service.
  /// - Throws: ``SecureStringError``.
  public func defineAndWait(
    _ name: String, as text: String, within time: Duration = AttestorTimes.wait
  ) throws(SecureStringError) {
    try Self.check(name)
    let value = try Self.checked(text)
    let session = try session(within: time)
    try store.define(name, as: value, of: session.account, with: session.keys)
  }

  /// Removes a string, blocking the calling thread, otherwise as ``remove(_:)``.
  ///
  /// - Parameters:
  ///   - name: The string's name.
  ///   - time: The longest wait for the service.
  /// - Throws: ``SecureStringError``.
  public func removeAndWait(
    _ name: String, within time: Duration = AttestorTimes.wait
  ) throws(SecureStringError) {
    try Self.check(name)
    let session = try session(within: time)
    try store.remove(name, of: session.account, with: session.keys)
  }

  // MARK: Keys

  private typealias Outcome<Value> = Result<Value, SecureStringError>

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

  private func session(within time: Duration) throws(SecureStringError) -> Session {
    let account = attestor.account
    return try session(of: account, attestor.fetchAndWait(FetchRequest.stringKey, time))
  }

  private func session(
    of account: String?, _ result: FetchResult
  ) throws(SecureStringError) -> Session {
    guard let account, result.status == .success, !result.stringKeys.isEmpty else {
      throw .noKey(result.status, reason: result.reason)
    }
    guard attestor.account == account else {
      throw .noKey(.notInitialized, reason: "the SDK was initialised anew meanwhile: try again")
    }
    return Session(account: account, keys: result.stringKeys)
  }

  /// Works with files on a thread of its own: a wait for another process must not hold one of Swift's pool.
  private static func apart<Value: Sendable>(
    _ session: Session, _ body: @escaping @Sendable (Session) throws(SecureStringError) -> Value
  ) async throws(SecureStringError) -> Value {
    let result = await withCheckedContinuation { continuation in
      CoreThread.run {
        do throws(SecureStringError) {
          continuation.resume(returning: Outcome<Value>.success(try body(session)))
        } catch {
          continuation.resume(returning: Outcome<Value>.failure(error))
        }
      }
    }
    return try result.get()
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
  /// The strings that this app defines for itself.
  ///
  /// - Parameter store: The folder that keeps them. It may be shared with a ``MeasurementStore`` and a
  ///   ``GateStore``.
  /// - Returns: A value without state; make as many as you like.
  public func secureStrings(in store: SecureStringStore) -> SecureStrings {
    SecureStrings(self, store)
  }
}
