// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

/// Opens the factory secrets of an account's hardware, and nothing else of the account. Secret.
///
/// The account keeps each factory secret sealed under this key, and this key sealed under its own. A
/// backend that issues tokens gets this key in a file and needs no lock of the account.
public final class FactoryKey: Sendable {
  /// The length of the key, in bytes.
  public static let byteCount = 32

  private let vault: Vault

  /// Takes a key.
  ///
  /// - Parameter key: The key, as `proofctl hardware factory-key` hands it out.
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)`` for another length.
  public init(_ key: consuming JOSESecret) throws(ServiceError) {
    guard key.count == Self.byteCount else {
      throw .invalid(
        "size of the factory key", value: "\(key.count) bytes", allowed: "\(Self.byteCount)")
    }
    vault = Vault(key)
  }

  /// An account's present key, and the row that it stands in.
  struct Present: ~Copyable {
    let secret: JOSESecret
    let row: [UInt8]
    /// The row with one more sealed secret counted. Each writer of one changes the row, so that a
    /// replacement of the key, which expects the row that it read, misses none.
    let counted: [UInt8]

    borrowing func copy() -> JOSESecret { secret.withBytes { JOSESecret(copying: $0) } }
  }

  static func present(in account: Account) throws(ServiceError) -> Present {
    let place = AccountDocument.factoryKey
    let row = try ServiceError.ofStore { () throws(StoreError) in
      try account.store.row(place.rawValue, of: .account)
    }
    guard let row else { throw place.damage }
    var fields = try place.fields(in: row)
    guard let sealed = fields.bytes("key") else { throw place.damage }
    let key = try account.vault.open(sealed, for: place.rawValue)
    guard key.count == byteCount else { throw place.damage }
    fields.set("written", (fields.integer("written") ?? 0) &+ 1)
    let counted = Array(JSONValue.object(fields).text.utf8)
    return Present(secret: key, row: row, counted: counted)
  }

  /// Seals what the factory drew for one piece of hardware.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)`` unless it has 32 bytes, not all zeros.
  func seal(
    _ drawn: borrowing JOSESecret, of hardware: HardwareID
  ) throws(ServiceError) -> [UInt8] {
    guard Self.factorySecret(of: hardware, drawn) != nil else {
      throw .invalid(
        "factory secret", value: "(not shown)",
        allowed: "\(FactorySecret.byteCount) random bytes")
    }
    return vault.seal(drawn, for: Self.place(of: hardware))
  }

  /// Opens the factory secret of one piece of hardware.
  ///
  /// - Parameters:
  ///   - sealed: The sealed secret, as the account keeps it.
  ///   - hardware: The hardware. The secret of other hardware does not open.
  /// - Returns: The secret.
  /// - Throws: ``ServiceError/damaged(_:)`` if it was changed, or sealed under another key.
  public func open(
    _ sealed: [UInt8], of hardware: HardwareID
  ) throws(ServiceError) -> FactorySecret {
    let place = Self.place(of: hardware)
    guard let secret = Self.factorySecret(of: hardware, try vault.open(sealed, for: place)) else {
      throw .damaged(place)
    }
    return secret
  }

  /// Derives the key of the log of one piece of hardware.
  ///
  /// - Parameters:
  ///   - sealed: The sealed factory secret, as the account keeps it.
  ///   - hardware: The hardware. The secret of other hardware does not open.
  /// - Returns: The key.
  /// - Throws: ``ServiceError/damaged(_:)`` if the secret was changed, or sealed under another key.
  public func logKey(
    _ sealed: [UInt8], of hardware: HardwareID
  ) throws(ServiceError) -> HardwareLogKey {
    let place = Self.place(of: hardware)
    let drawn = try vault.open(sealed, for: place)
    let key = drawn.withBytes {
      try? HardwareLogKey(of: hardware, drawn: SecretBytes(copying: $0))
    }
    guard let key else { throw .damaged(place) }
    return key
  }

  /// Seals a secret of this key under another one.
  func moved(
    _ sealed: [UInt8], of hardware: HardwareID, to other: FactoryKey
  ) throws(ServiceError) -> [UInt8] {
    try other.seal(vault.open(sealed, for: Self.place(of: hardware)), of: hardware)
  }

  private static func factorySecret(
    of hardware: HardwareID, _ drawn: borrowing JOSESecret
  ) -> FactorySecret? {
    drawn.withBytes { try? FactorySecret(of: hardware, drawn: SecretBytes(copying: $0)) }
  }

  private static func place(of hardware: HardwareID) -> String { "factory/\(hardware)" }
}
