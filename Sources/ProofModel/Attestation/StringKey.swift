// SPDX-License-Identifier: Apache-2.0

/// The key that seals the secure strings of one installation on its device. Secret.
///
/// The service derives it from a secret of the account and the instance id, and sends it to an app
/// that passes. It survives restarts and updates of the app, and differs for each installation and
/// each account. docs/SERVICE.md, section 11, has the derivation.
public struct StringKey: Sendable {
  /// The length of a key, in bytes.
  public static var byteCount: Int { 32 }

  private final class Parts: Sendable {
    let key: SecretBytes
    let index: SecretBytes
    let seal: SecretBytes

    init(_ key: consuming SecretBytes) {
      let nothing: [UInt8] = []
      index = CoreCrypto.derive(label: StringKey.indexLabel, key: key, info: nothing.span)
      seal = CoreCrypto.derive(label: StringKey.sealLabel, key: key, info: nothing.span)
      self.key = key
    }
  }

  private static let keyLabel = "pfa1.string-key."
  private static let decoyLabel = "pfa1.string-fake"
  private static let idLabel = "pfa1.string-kid."
  private static let indexLabel = "pfa1.string-name"
  private static let sealLabel = "pfa1.string-seal"
  private static let contextLabel = Array("pfa1.string-data".utf8)

  private let parts: Parts
  /// The public name of the key.
  package let id: ID

  /// Takes a key's bytes over.
  ///
  /// - Parameter bytes: 32 bytes.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``.
  public init(_ bytes: consuming SecretBytes) throws(ProofError) {
    try bytes.checkCount(Self.byteCount, of: "string key")
    self.init(checked: bytes)
  }

  private init(checked bytes: consuming SecretBytes) {
    let nothing: [UInt8] = []
    let name = CoreCrypto.derive(label: Self.idLabel, key: bytes, info: nothing.span)
    id = name.withBytes { name in
      ID((0..<ID.byteCount).map { name[byte: $0] })
    }
    parts = Parts(bytes)
  }

  /// Derives the key of an installation that passes.
  ///
  /// - Parameters:
  ///   - device: The installation.
  ///   - secret: The account's secret of strings.
  /// - Returns: The key.
  package static func key(of device: InstanceID, from secret: borrowing SecretBytes) -> StringKey {
    derived(device, secret, keyLabel)
  }

  /// Derives the key that an installation gets while its app fails. It is the same each time, and opens nothing
  /// that was sealed while the app passed.
  package static func decoy(
    of device: InstanceID, from secret: borrowing SecretBytes
  ) -> StringKey {
    derived(device, secret, decoyLabel)
  }

  private static func derived(
    _ device: InstanceID, _ secret: borrowing SecretBytes, _ label: String
  ) -> StringKey {
    StringKey(
      checked: device.withBytes { CoreCrypto.derive(label: label, key: secret, info: $0) })
  }

  /// The key's public name: 8 bytes.
  package struct ID: Sendable, Hashable, Comparable {
    package static var byteCount: Int { 8 }
    package let bytes: [UInt8]

    /// Traps on another length, a defect of the caller.
    package init(_ bytes: [UInt8]) {
      precondition(bytes.count == Self.byteCount)
      self.bytes = bytes
    }

    package static func < (one: ID, other: ID) -> Bool {
      one.bytes.lexicographicallyPrecedes(other.bytes)
    }
  }

  /// A sealed value.
  package struct Sealed: Sendable, Hashable {
    package static var nonceByteCount: Int { CoreStringSeal.nonceByteCount }
    package static var tagByteCount: Int { CoreStringSeal.tagByteCount }
    package let nonce: [UInt8]
    /// The ciphertext with its tag.
    package let body: [UInt8]

    package init(nonce: [UInt8], body: [UInt8]) {
      self.nonce = nonce
      self.body = body
    }
  }

  /// The length of a string's place.
  package static var placeByteCount: Int { 16 }

  /// The place of a string in a file: 16 bytes that only this key derives from the name.
  package func place(of name: String) -> [UInt8] { place(of: Array(name.utf8)) }

  private func place(of name: [UInt8]) -> [UInt8] {
    Array(CoreCrypto.hmac(key: parts.index, name.span).bytes.prefix(Self.placeByteCount))
  }

  /// Seals a value with its name.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - name: The string's name, at most 65,535 bytes.
  /// - Returns: The sealed value.
  package func seal(_ value: borrowing SecretBytes, named name: String) -> Sealed {
    seal(value, named: name, nonce: CoreSodium.random(count: Sealed.nonceByteCount))
  }

  /// Seals a value with a nonce that the caller never uses again: a test's.
  package func seal(
    _ value: borrowing SecretBytes, named name: String, nonce: [UInt8]
  ) -> Sealed {
    let name = Array(name.utf8)
    precondition(name.count <= UInt16.max)
    let plain = value.withBytes { value in
      SecretBytes(count: 2 + name.count + value.byteCount) { bytes in
        let head = UInt16(name.count).littleEndianBytes + name
        for index in head.indices { bytes[index] = head[index] }
        for offset in value.byteOffsets { bytes[2 + name.count + offset] = value[byte: offset] }
      }
    }
    let body = CoreStringSeal.seal(
      plain, key: parts.seal, nonce: nonce, context: Self.context(place(of: name)))
    return Sealed(nonce: nonce, body: body)
  }

  /// An opened string.
  package struct Opened: ~Copyable {
    /// The string's name.
    package let name: String
    /// Its value.
    package let value: SecretBytes

    /// Gives the value away.
    package consuming func taken() -> SecretBytes { value }
  }

  /// Opens the output of ``seal(_:named:)`` from its place in a file.
  ///
  /// - Returns: Name and value; nil for another key, another place, or other bytes.
  package func open(_ sealed: Sealed, at place: [UInt8]) -> Opened? {
    guard
      let plain = CoreStringSeal.open(
        sealed.body, key: parts.seal, nonce: sealed.nonce, context: Self.context(place)),
      plain.count > 2
    else { return nil }
    return plain.withBytes { plain in
      let start = 2 + (Int(littleEndianBytes: [plain[byte: 0], plain[byte: 1]]))
      guard start < plain.byteCount,
        let name = String(validating: (2..<start).map { plain[byte: $0] }, as: UTF8.self),
        self.place(of: name) == place
      else { return nil }
      let value = SecretBytes(count: plain.byteCount - start) { bytes in
        for index in 0..<bytes.count { bytes[index] = plain[byte: start + index] }
      }
      return Opened(name: name, value: value)
    }
  }

  private static func context(_ place: [UInt8]) -> [UInt8] { contextLabel + place }

  /// Lends the key's bytes, for as long as the closure runs.
  package func withBytes<R: ~Copyable>(_ body: (RawSpan) -> R) -> R { parts.key.withBytes(body) }
}

extension StringKey: Hashable {
  /// Compares in constant time.
  public static func == (left: StringKey, right: StringKey) -> Bool {
    left.parts.key.matches(right.parts.key)
  }

  /// Constant, because a hash of the secret could leak it.
  public func hash(into hasher: inout Hasher) { hasher.combine(Self.byteCount) }
}

extension StringKey: CustomStringConvertible, CustomReflectable {
  /// A text that never contains the key.
  public var description: String { "StringKey(secret)" }

  /// Shows only the description.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
