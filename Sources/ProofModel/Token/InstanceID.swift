// SPDX-License-Identifier: Apache-2.0

/// One installation of an account's app on one device.
///
/// The device derives it from its storage secret and the account. So it changes with a new
/// installation, differs from account to account, and cannot be chosen. The service knows the
/// device under it, and the hardware keeps a slot under it.
public struct InstanceID: RandomBytes {
  /// 16 bytes.
  public static var byteCount: Int { 16 }

  let storage: InlineBytes<16>

  init(storage: InlineBytes<16>) { self.storage = storage }

  /// Checks and takes 16 bytes that are not all zeros.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "instance id")
    if storage.isZero { throw .allZeros(of: "instance id") }
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

extension InstanceID {
  /// The number of the device source that is the storage secret.
  public static let secretSource: UInt8 = 5

  /// Derives the id from evidence.
  ///
  /// - Parameters:
  ///   - evidence: The app's evidence. The record of the storage secret decides.
  ///   - account: The account's name.
  public init(of evidence: EvidenceSet, account: String) {
    let secret = evidence.records.first { record in
      record.source.evidenceClass == .device && record.source.number == Self.secretSource
    }
    var transcript = AttestationWriter(transcript: AttestationWire.deviceLabel)
    transcript.write(text: account)
    if let digest = secret?.digest {
      transcript.write(digest)
    } else {
      transcript.write(raw: [UInt8](repeating: 0, count: Digest.byteCount))
    }
    storage = Digest(hashing: transcript.bytes).storage.prefix()
  }
}
