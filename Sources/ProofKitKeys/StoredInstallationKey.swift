// SPDX-License-Identifier: Apache-2.0

public import ProofKit
public import ProofModel

/// An installation key in the app's storage folder: a file that only its owner may read.
///
/// The key is as secret as the file. A copy of the storage is a copy of the key: another machine
/// then signs as this installation, and its signatures are equally valid.
public final class StoredInstallationKey: InstallationKey {
  private let file: InstallationKeyFile
  private let held = CoreLock<CoreScalar?>(nil)

  /// Describes the key of a folder. Nothing is read or made yet.
  ///
  /// - Parameter folder: The app's storage folder, made if it is not there.
  public init(folder: String) { file = InstallationKeyFile(folder: folder) }

  /// The public half; the key is made at the first call.
  public func identity() throws(InstallationKeyError) -> InstallationKeyIdentity {
    InstallationKeyIdentity(try scalar().point, in: .storage)
  }

  /// Signs a message.
  public func signature(
    of message: [UInt8]
  ) throws(InstallationKeyError) -> InstallationSignature {
    guard let signature = try scalar().signature(of: message) else { throw .libraryFailed }
    return signature
  }

  /// Returns nil: a key in a file has no certificate of a TPM.
  public func endorsementCertificate() throws(InstallationKeyError) -> [UInt8]? { nil }

  /// Refuses: a key in a file gets no credential.
  public func open(_ credential: KeyCredential) throws(InstallationKeyError) -> CredentialSecret {
    throw .libraryFailed
  }

  /// Makes a fresh key for a file.
  package static func make() throws(InstallationKeyError) -> InstallationKeyFile.Contents {
    // A random number is out of range once in 2^32 tries.
    for _ in 0..<8 {
      if let secret = CoreSecret(), let point = secret.scalar?.point {
        return InstallationKeyFile.Contents(.storage, secret, point)
      }
    }
    throw .libraryFailed
  }

  private func scalar() throws(InstallationKeyError) -> CoreScalar {
    if let scalar = held.withLock({ $0 }) { return scalar }
    let contents = try file.readOrMake(Self.make)
    guard contents.place == .storage else {
      // This folder's app was built with `ProofKitTPM` before.
      throw .tpmAbsent(device: "this build of the app, which has no TPM support")
    }
    guard let scalar = contents.secret.scalar else { throw .damaged(path: file.path) }
    held.withLock { $0 = scalar }
    return scalar
  }
}
