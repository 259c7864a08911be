// SPDX-License-Identifier: Apache-2.0

public import ProofKit
import ProofKitKeys
public import ProofModel

/// An installation key in a TPM 2.0, or in the app's storage on a machine that has no TPM.
///
/// The TPM derives the key again for each signature, from its own seed and 32 bytes of the file
/// `installation-key`. The same file gives another key in every other TPM, and the private half
/// never leaves the TPM. So a copy of the storage on another machine cannot sign as this
/// installation.
///
/// A program on this machine that reads the file and may open the device can make the TPM sign.
public final class TPMInstallationKey: InstallationKey {
  /// The device and the timeouts.
  public struct Options: Sendable, Hashable {
    /// The TPM: the kernel's resource manager, or a Unix socket of swtpm.
    public var device: String
    /// The timeout of one signature.
    public var signingTime: Duration
    /// The timeout of opening a credential, for which a TPM may have to make an RSA key.
    public var provingTime: Duration

    /// Describes the device and the timeouts.
    public init(
      device: String = "/dev/tpmrm0", signingTime: Duration = .seconds(4),
      provingTime: Duration = .seconds(20)
    ) {
      self.device = device
      self.signingTime = signingTime
      self.provingTime = provingTime
    }
  }

  private struct Held: Sendable {
    let contents: InstallationKeyFile.Contents
    let note: String
  }

  private let file: InstallationKeyFile
  private let options: Options
  private let held = CoreLock<Held?>(nil)
  /// The key to use if the machine has no TPM.
  private let stored: StoredInstallationKey

  /// Describes the key of a folder. No file is read and no TPM opened yet.
  ///
  /// - Parameters:
  ///   - folder: The app's storage folder, made if it is not there.
  ///   - options: The device and the timeouts.
  public init(folder: String, options: Options = Options()) {
    file = InstallationKeyFile(folder: folder)
    stored = StoredInstallationKey(folder: folder)
    self.options = options
  }

  /// The public half, and the place of the private half; the key is made at the first call.
  ///
  /// A key in storage is made only if the machine has no TPM, this user may not open it, or it
  /// refuses to make keys. A TPM that is busy, locked out or silent is an error: try again.
  public func identity() throws(InstallationKeyError) -> InstallationKeyIdentity {
    let held = try hold()
    return InstallationKeyIdentity(held.contents.point, in: held.contents.place, note: held.note)
  }

  /// Signs a message.
  public func signature(
    of message: [UInt8]
  ) throws(InstallationKeyError) -> InstallationSignature {
    let contents = try hold().contents
    guard contents.place == .tpm else { return try stored.signature(of: message) }
    guard let digest = coreSHA256(message) else { throw .libraryFailed }
    return try told { () throws(CoreTPM.Failure) in
      try tpm(options.signingTime).sign(digest, contents.secret, contents.point)
    }
  }

  /// The certificate of the TPM's RSA-2048 endorsement key; nil if the TPM has none, or the key is in
  /// storage.
  public func endorsementCertificate() throws(InstallationKeyError) -> [UInt8]? {
    guard try hold().contents.place == .tpm else { return nil }
    return try told { () throws(CoreTPM.Failure) in
      do throws(CoreTPM.Failure) { return try tpm(options.signingTime).certificate() } catch {
        guard error == .noCertificate else { throw error }
        return nil
      }
    }
  }

  /// Opens a credential in the TPM.
  public func open(_ credential: KeyCredential) throws(InstallationKeyError) -> CredentialSecret {
    let contents = try hold().contents
    guard contents.place == .tpm else { return try stored.open(credential) }
    return try told { () throws(CoreTPM.Failure) in
      try tpm(options.provingTime).open(credential, contents.secret, contents.point)
    }
  }

  private func hold() throws(InstallationKeyError) -> Held {
    if let held = held.withLock({ $0 }) { return held }
    var note = "it was made where no TPM could be used"
    let contents = try file.readOrMake { () throws(InstallationKeyError) in
      do throws(CoreTPM.Failure) {
        return try make()
      } catch {
        note = Self.reason(for: error, options.device)
        guard Self.isLasting(error) else { throw self.words(error) }
        return try StoredInstallationKey.make()
      }
    }
    let made = Held(contents: contents, note: contents.place == .tpm ? "" : note)
    held.withLock { $0 = made }
    return made
  }

  private func make() throws(CoreTPM.Failure) -> InstallationKeyFile.Contents {
    // One key of 128 has a coordinate that begins with a zero byte; such keys are not used.
    for _ in 0..<8 {
      guard let unique = CoreSecret() else { throw .library(0) }
      do throws(CoreTPM.Failure) {
        let point = try tpm(options.signingTime).point(unique)
        return InstallationKeyFile.Contents(.tpm, unique, point)
      } catch {
        guard error == .otherKey else { throw error }
      }
    }
    throw .library(0)
  }

  private func tpm(_ time: Duration) -> CoreTPM {
    let milliseconds = time.components.seconds.multipliedReportingOverflow(by: 1000)
    let whole = milliseconds.overflow ? Int64(Int32.max) : milliseconds.partialValue
    let part = time.components.attoseconds / 1_000_000_000_000_000
    return CoreTPM(
      device: options.device, timeout: Int32(clamping: max(1, min(whole, 1 << 30) + part)))
  }

  /// Whether a failure would repeat at the next start, so that the app would have no key at all.
  private static func isLasting(_ failure: CoreTPM.Failure) -> Bool {
    switch failure {
    case .absent, .denied, .refused: true
    case .busy, .lockedOut, .timedOut, .brokenOff, .otherKey, .noCertificate, .library: false
    }
  }

  private static func reason(for failure: CoreTPM.Failure, _ device: String) -> String {
    switch failure {
    case .absent: "there is no TPM at \(device)"
    case .denied: "this user may not open \(device)"
    case .refused(let code): "the TPM at \(device) makes no key (0x\(String(code, radix: 16)))"
    default: "the TPM at \(device) could not be used"
    }
  }

  private func told<Value>(
    _ body: () throws(CoreTPM.Failure) -> Value
  ) throws(InstallationKeyError) -> Value {
    do throws(CoreTPM.Failure) { return try body() } catch { throw words(error) }
  }

  private func words(_ failure: CoreTPM.Failure) -> InstallationKeyError {
    let device = options.device
    return switch failure {
    case .absent: .tpmAbsent(device: device)
    case .denied: .tpmDenied(device: device)
    case .busy: .tpmBusy(device: device)
    case .lockedOut: .tpmLockedOut(device: device)
    case .timedOut: .tpmTimedOut(device: device)
    case .brokenOff: .tpmBrokenOff(device: device)
    case .otherKey: .tpmHasOtherKey(device: device, path: file.path)
    case .refused(let code), .library(let code): .tpmFailed(device: device, code: code)
    case .noCertificate: .tpmFailed(device: device, code: 0)
    }
  }
}
