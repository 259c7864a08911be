// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The P-256 key of one installation of an app: it signs the app's reports to the attestation service.
///
/// The service knows an installation by its key from the first report on. `ProofKitKeys` has one in the
/// app's storage (`StoredInstallationKey`), `ProofKitTPM` one in a TPM 2.0 where the machine has one
/// (`TPMInstallationKey`).
///
/// All functions may be called from several threads at once. They may block up to the timeout of
/// the key's place. Each use of the key begins its messages with a label of its own, so that a
/// signature for one use is not valid for another.
public protocol InstallationKey: Sendable {
  /// The public half, and where the private half is; made at the first call.
  ///
  /// - Throws: ``InstallationKeyError``.
  func identity() throws(InstallationKeyError) -> InstallationKeyIdentity

  /// Signs a message: ES256.
  ///
  /// - Parameter message: The whole message; its SHA-256 is signed.
  /// - Returns: r and s.
  /// - Throws: ``InstallationKeyError``.
  func signature(of message: [UInt8]) throws(InstallationKeyError) -> InstallationSignature

  /// The certificate (DER) of the TPM's endorsement key; nil if the key is not in a TPM, or the TPM
  /// has no certificate that the service can use.
  ///
  /// It identifies this one TPM, so it leaves the device only if the account's policy demands
  /// hardware.
  ///
  /// - Throws: ``InstallationKeyError``.
  func endorsementCertificate() throws(InstallationKeyError) -> [UInt8]?

  /// Opens a credential that the service made for this key and the TPM of the certificate.
  ///
  /// - Parameter credential: The service's credential.
  /// - Returns: The secret in it.
  /// - Throws: ``InstallationKeyError``.
  func open(_ credential: KeyCredential) throws(InstallationKeyError) -> CredentialSecret
}

/// The identity of an installation's key.
public struct InstallationKeyIdentity: Sendable, Hashable {
  /// The public half.
  public let point: InstallationPoint
  /// The place of the private half.
  public let place: InstallationKeyPlace
  /// The reason why the key is not in a TPM, for a log; empty if it is, or if no TPM was looked
  /// for.
  public let note: String

  /// Describes a key.
  public init(_ point: InstallationPoint, in place: InstallationKeyPlace, note: String = "") {
    self.point = point
    self.place = place
    self.note = note
  }
}

/// The reason why the installation's key cannot be used now. No case accuses the user or the app.
public enum InstallationKeyError: Error, Sendable, Hashable {
  /// The key's file cannot be read or written.
  case storage(path: String, reason: String)
  /// The key's file is damaged, or of a later version.
  case damaged(path: String)
  /// Another process is making the key.
  case inUse(path: String)
  /// The key is in a TPM, but this machine has none, or this user cannot see it.
  case tpmAbsent(device: String)
  /// The key is in a TPM that this user may not open.
  case tpmDenied(device: String)
  /// The TPM has no free slot at the moment, or another program holds it.
  case tpmBusy(device: String)
  /// The TPM refuses every program for a time, after wrong passwords of any program.
  case tpmLockedOut(device: String)
  /// The TPM did not answer in time.
  case tpmTimedOut(device: String)
  /// The connection to the TPM ended, or its answer is malformed.
  case tpmBrokenOff(device: String)
  /// The TPM makes another key: it was cleared, or the storage came from another machine.
  case tpmHasOtherKey(device: String, path: String)
  /// The TPM, or the library, refused with this code.
  case tpmFailed(device: String, code: UInt32)
  /// The key cannot be used: libcrypto failed.
  case libraryFailed
}

extension InstallationKeyError: CustomStringConvertible {
  /// The failure, its value, and the next step.
  public var description: String {
    switch self {
    case .storage(let path, let reason):
      "The installation key \(path) cannot be read or made: \(reason). Check the folder and its owner."
    case .damaged(let path):
      "The file \(path) holds no installation key that this version can read. Restore it; or install the"
        + " app anew, and it becomes a new installation."
    case .inUse(let path):
      "Another process makes the installation key \(path) at this moment. Try again."
    case .tpmAbsent(let device):
      "The installation key is in a TPM, and there is none at \(device) now. Switch the TPM on (firmware"
        + " setup) and try again."
    case .tpmDenied(let device):
      "The installation key is in a TPM, and this user may not open \(device). Add the user to the group"
        + " of that device (often “tss”), and log in again."
    case .tpmBusy(let device):
      "The TPM at \(device) has no room at the moment. Try again."
    case .tpmLockedOut(let device):
      "The TPM at \(device) is locked out after wrong passwords of some program. Wait until it recovers,"
        + " or have the machine's owner reset it (tpm2_dictionarylockout --clear-lockout)."
    case .tpmTimedOut(let device):
      "The TPM at \(device) did not answer in time. Try again."
    case .tpmBrokenOff(let device):
      "The connection to the TPM at \(device) ended before its answer. Try again."
    case .tpmHasOtherKey(let device, let path):
      "The TPM at \(device) does not make the key that \(path) names: the TPM was cleared, or the storage"
        + " comes from another machine. Install the app anew, and it becomes a new installation."
    case .tpmFailed(let device, let code):
      "The TPM at \(device) refused with code 0x\(String(code, radix: 16)) (tpm2_rc_decode explains it)."
        + " Try again; if it stays, look at the TPM's state."
    case .libraryFailed:
      "libcrypto could not sign with the installation key. Try again; if it stays, check the machine's"
        + " OpenSSL configuration."
    }
  }
}

extension InstallationKeyError? {
  /// The party that can remove the cause; an attestor without a key is its developer's to mend.
  var whoCanMend: Mender { self?.whoCanMend ?? .developer }
}
