// SPDX-License-Identifier: Apache-2.0

/// The key with which a backend signs measurement tokens and orders. Secret.
public struct IssuerKey: Sendable {
  let core: CoreIssuer

  /// Makes the key pair of a seed.
  ///
  /// - Parameter seed: 32 random bytes.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``.
  public init(seed: consuming SecretBytes) throws(ProofError) {
    core = try CoreIssuer(seed: seed)
  }

  /// Generates a key.
  ///
  /// - Returns: A fresh random key.
  public static func random() -> IssuerKey {
    IssuerKey(core: CoreIssuer.random())
  }

  private init(core: CoreIssuer) { self.core = core }

  /// The key under which hardware checks this key's signatures.
  public var publicKey: IssuerPublicKey { core.publicKey }

  /// The issuer's name.
  public var id: IssuerID { publicKey.id }
}

extension IssuerKey: CustomStringConvertible, CustomReflectable {
  /// The issuer's public name. It never contains the key.
  public var description: String { "IssuerKey(\(id))" }

  /// Shows the issuer's public name.
  public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
