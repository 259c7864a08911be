// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A secret of a gate's own: 32 random bytes with a number. All nodes of the gate share it. Secret.
public final class GateOwnSecret: Sendable {
  /// How many bytes a secret has.
  public static let byteCount = 32

  /// The number: two secrets of one gate have different numbers.
  public let number: UInt8
  let bytes: SecretBytes

  /// Takes a secret over.
  ///
  /// - Parameters:
  ///   - bytes: 32 random bytes.
  ///   - number: Its number. Texts that the gate makes name it.
  /// - Throws: ``/ProofModel/ProofError/wrongLength(of:expected:actual:)``.
  public init(_ bytes: consuming SecretBytes, number: UInt8) throws(ProofError) {
    guard bytes.count == Self.byteCount else {
      throw .wrongLength(
        of: "gate's own secret", expected: Self.byteCount...Self.byteCount, actual: bytes.count)
    }
    self.bytes = bytes
    self.number = number
  }
}

extension GateOwnSecret: CustomStringConvertible, CustomReflectable {
  /// The secret's number; never the secret.
  public var description: String { "GateOwnSecret(number \(number))" }

  /// Shows the secret's number.
  public var customMirror: Mirror { Mirror(self, children: ["number": number]) }
}
