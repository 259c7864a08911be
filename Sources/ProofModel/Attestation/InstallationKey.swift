// SPDX-License-Identifier: Apache-2.0

/// The public half of an installation's key: a point of P-256, x and y.
public struct InstallationPoint: FixedBytes {
  /// 64 bytes.
  public static var byteCount: Int { 64 }

  let storage: InlineBytes<64>

  /// Checks and takes 64 bytes. Whether they are a point of the curve is checked with a signature.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "installation key")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

/// A signature by an installation's key: ES256, r and s.
public struct InstallationSignature: FixedBytes {
  /// 64 bytes.
  public static var byteCount: Int { 64 }

  let storage: InlineBytes<64>

  /// Checks and takes 64 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "installation signature")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

/// The random bytes in a credential. An app that reports them has the TPM and the key that the
/// credential names.
///
/// They are valid for one report, which contains them, and are no secret after it.
public struct CredentialSecret: FixedBytes {
  /// 32 bytes.
  public static var byteCount: Int { 32 }

  let storage: InlineBytes<32>

  /// Checks and takes 32 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "credential secret")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

/// The place where an installation claims that its key is. The numbers are the wire's.
public enum InstallationKeyPlace: UInt8, Sendable, CaseIterable {
  /// In a file of the app's storage: a copy of the storage is a copy of the key.
  case storage = 1
  /// In a TPM. This is a claim until the service has evidence.
  case tpm = 2
}

/// Evidence that a TPM shows before it can prove that it holds a key.
public struct Endorsement: Sendable, Hashable {
  /// The longest certificate, in bytes.
  public static let certificateMax = 4096

  /// The installation's key.
  public let point: InstallationPoint
  /// The certificate (DER) of the TPM's endorsement key.
  public let certificate: [UInt8]

  /// Describes the evidence.
  public init(_ point: InstallationPoint, certificate: [UInt8]) {
    self.point = point
    self.certificate = certificate
  }
}

/// A secret that one TPM can open, and only while one key is in it (TPM2_ActivateCredential).
public struct KeyCredential: Sendable, Hashable {
  /// The longest part, in bytes.
  public static let partMax = 512

  /// The secret with its integrity: TPMS_ID_OBJECT.
  public let object: [UInt8]
  /// The seed of its keys, encrypted for the endorsement key.
  public let seed: [UInt8]

  /// Describes a credential.
  public init(object: [UInt8], seed: [UInt8]) {
    self.object = object
    self.seed = seed
  }
}

/// The service's demand on an installation's key beyond a signature.
public enum KeyDemand: Sendable, Hashable {
  /// No further demand.
  case nothing
  /// Evidence that the key is in a TPM: the app asks again, with an ``Endorsement``.
  case evidence
  /// The secret in this credential.
  case credential(KeyCredential)
}

/// The statement of a signed report about the key that signs it.
public struct InstallationClaim: Sendable, Hashable {
  /// The key.
  public let point: InstallationPoint
  /// The place that the app claims for the key.
  public let place: InstallationKeyPlace
  /// The secret of the challenge's credential, if there was one and the TPM opened it.
  public let secret: CredentialSecret?

  /// Describes a key.
  public init(
    _ point: InstallationPoint, in place: InstallationKeyPlace, secret: CredentialSecret? = nil
  ) {
    self.point = point
    self.place = place
    self.secret = secret
  }

  /// A report's key, and its signing function. If `sign` returns nil, no report is made.
  public typealias Signer = (
    claim: InstallationClaim, sign: (_ message: [UInt8]) -> InstallationSignature?
  )
}
