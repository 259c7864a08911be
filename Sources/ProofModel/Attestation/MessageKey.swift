// SPDX-License-Identifier: Apache-2.0

/// The key that an account's apps sign messages with. Secret.
///
/// The whole account has one key. So a signature proves that an app passed, but not which app: the
/// token in each signed message identifies it.
public struct MessageKey: Sendable {
  /// The length of a key, in bytes.
  public static var byteCount: Int { 32 }
  /// The length of a signature, in bytes.
  public static var signatureByteCount: Int { Digest.byteCount }

  private final class Block: Sendable {
    let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
  }

  private let block: Block

  /// Takes a key's bytes over.
  ///
  /// - Parameter bytes: 32 random bytes.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``.
  public init(_ bytes: consuming SecretBytes) throws(ProofError) {
    try bytes.checkCount(Self.byteCount, of: "message key")
    block = Block(bytes)
  }

  /// A fresh key.
  public static func random() -> MessageKey {
    guard let key = try? MessageKey(.random(count: byteCount)) else {
      preconditionFailure("The count is right.")
    }
    return key
  }

  /// Signs a message: HMAC-SHA-256.
  ///
  /// - Parameter message: The message; its UTF-8 bytes are signed.
  /// - Returns: 32 bytes.
  public func signature(of message: String) -> [UInt8] {
    signature(of: Array(message.utf8))
  }

  /// Signs a message of any bytes.
  package func signature(of message: [UInt8]) -> [UInt8] {
    CoreCrypto.hmac(key: block.bytes, message.span).bytes
  }

  /// Checks a message's signature, in constant time.
  ///
  /// - Parameters:
  ///   - signature: The signature to check.
  ///   - message: The message.
  /// - Returns: Whether the signature is right.
  public func isSignature(_ signature: Span<UInt8>, of message: String) -> Bool {
    CoreCrypto.equal(signature, self.signature(of: message).span)
  }

  /// Lends the key's bytes, for as long as the closure runs.
  package func withBytes<R: ~Copyable>(_ body: (RawSpan) -> R) -> R { block.bytes.withBytes(body) }
}

extension MessageKey: Hashable {
  /// Compares in constant time.
  public static func == (left: MessageKey, right: MessageKey) -> Bool {
    left.block.bytes.matches(right.block.bytes)
  }

  /// Constant, because a hash of the secret could leak it.
  public func hash(into hasher: inout Hasher) { hasher.combine(Self.byteCount) }
}

extension MessageKey: CustomStringConvertible, CustomReflectable {
  /// A text that never contains the key.
  public var description: String { "MessageKey(secret)" }

  /// Shows only the description.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
