// SPDX-License-Identifier: Apache-2.0

/// The name of one piece of hardware.
public struct HardwareID: RandomBytes {
  /// 16 bytes.
  public static var byteCount: Int { 16 }

  let storage: InlineBytes<16>

  init(storage: InlineBytes<16>) { self.storage = storage }

  /// Checks and takes 16 bytes that are not all zeros.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "hardware id")
    if storage.isZero { throw .allZeros(of: "hardware id") }
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

/// The X25519 key that measurement tokens for one piece of hardware are sealed to.
public struct HardwarePublicKey: FixedBytes {
  /// 32 bytes.
  public static var byteCount: Int { 32 }

  let storage: InlineBytes<32>

  init(storage: InlineBytes<32>) { self.storage = storage }

  /// Checks and takes 32 bytes that are not all zeros.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "hardware public key")
    if storage.isZero { throw .allZeros(of: "hardware public key") }
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

/// The public identity of one piece of hardware: its name, and the key to seal its tokens to.
public struct HardwareIdentity: Sendable, Hashable {
  /// The hardware's name.
  public let id: HardwareID
  /// The key that tokens for this hardware are sealed to.
  public let publicKey: HardwarePublicKey

  /// Makes an identity from the factory's record of one piece of hardware.
  public init(id: HardwareID, publicKey: HardwarePublicKey) {
    self.id = id
    self.publicKey = publicKey
  }
}
