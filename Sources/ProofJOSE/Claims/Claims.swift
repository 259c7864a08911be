// SPDX-License-Identifier: Apache-2.0

/// A token's content: the claims that this project's tokens have, each with its type, and all other
/// claims unchanged.
///
/// Values are checked when they are set into a type such as ``Binding``, when a token is
/// read, and when one is made.
public struct Claims: Sendable {
  /// The token's end (`exp`).
  public var expiry: UnixTime?
  /// The time of issue (`iat`). Left out by default, because some backends refuse an issuer whose
  /// clock is ahead.
  public var issuedAt: UnixTime?
  /// The token's beginning (`nbf`).
  public var notBefore: UnixTime?
  /// The token's issuer (`iss`).
  public var issuer: String?
  /// The audience (`aud`). One name is written as a string, several as an array, none not at all.
  public var audience: [String] = []
  /// The token's subject (`sub`).
  public var subject: String?
  /// The app's installation on its device (`did`): the 16 bytes of an `InstanceID` of ProofModel.
  public var instance: [UInt8]?
  /// The address of the app as the service saw it (`ip`). For people only, because networks change
  /// it.
  public var address: String?
  /// The attestation response code (`arc`): a few characters of base32 for support staff.
  public var attestationCode: String?
  /// Annotations (`anno`): names of flags. Written if it is not `nil`.
  public var annotations: [String]?
  /// The hash that the token is bound to (`pay`).
  public var binding: Binding?
  /// The name of the key for signed messages (`mskid`).
  public var messageKeyID: String?
  /// The public key of this installation (`ipk`): EC P-256, DER SubjectPublicKeyInfo.
  public var installPublicKey: [UInt8]?
  /// The measurement (`imh`, `dmh`, `mpk`, `dpk`). Secret: only in sealed tokens.
  public var measurement: MeasurementClaims?
  /// All other claims. Not for secrets.
  public var others = JSONObject()

  /// The length of ``instance``, in bytes.
  public static var instanceByteCount: Int { 16 }

  /// No claims.
  public init() {}

  /// Makes claims with an end.
  ///
  /// - Parameter expiry: The token's end.
  public init(expiry: UnixTime) { self.expiry = expiry }

  /// The names that have a property of their own.
  package static let typedNames = [
    "exp", "iat", "nbf", "iss", "aud", "sub", "did", "ip", "arc", "anno", "pay", "mskid", "ipk",
    "imh", "dmh", "mpk", "dpk",
  ]
}

extension Claims {
  /// The binding of a token: the SHA-256 of some text, such as the whole value of a header.
  public struct Binding: Sendable, Hashable {
    /// The hash.
    public let digest: [UInt8]

    /// The length of the hash, in bytes.
    public static var byteCount: Int { Digest.byteCount }

    /// Makes a binding from its hash.
    ///
    /// - Parameter digest: 32 bytes.
    /// - Throws: ``JOSEError/claimInvalid(_:_:)``.
    public init(digest: [UInt8]) throws(JOSEError) {
      guard digest.count == Self.byteCount else {
        throw .claimInvalid("pay", .bytes(Self.byteCount))
      }
      self.digest = digest
    }

    /// Makes the binding to some bytes.
    ///
    /// - Parameter bytes: The bytes to bind, such as a header's whole value, `Bearer ` included.
    /// - Throws: ``JOSEError/libraryFailed``.
    public init(to bytes: Span<UInt8>) throws(JOSEError) {
      digest = try Digest.sha256(bytes)
    }

    /// Makes the binding to some text.
    ///
    /// - Parameter text: The text to bind, such as a header's whole value, `Bearer ` included.
    /// - Throws: ``JOSEError/libraryFailed``.
    public init(to text: String) throws(JOSEError) {
      try self.init(to: Array(text.utf8).span)
    }

    /// Whether both bind the same text. Constant time.
    ///
    /// - Parameter other: Another binding.
    /// - Returns: Whether they are equal.
    public func matches(_ other: Binding) -> Bool {
      ConstantTime.areEqual(digest.span, other.digest.span)
    }

    /// The binding as tokens write it: padded standard base64, 44 characters.
    public var text: String { Claims.base64(digest) }
  }

  package static func base64(_ bytes: [UInt8]) -> String {
    let text = TextWriter.bytes { writer, text in
      writer.base64(bytes.span, .standard, into: &text)
    }
    return String(decoding: text, as: UTF8.self)
  }
}
