/// The id of one account's app on one device, as the service knows it.
///
/// It is derived from the storage secret. So it changes with a new installation, differs from
/// account to account, and cannot be chosen.
public struct DeviceID: FixedBytes {
  /// 16 bytes.
  public static var byteCount: Int { 16 }

  let storage: InlineBytes<16>

  /// Checks and takes 16 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "device id")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }

  /// The number of the device source that is the storage secret.
  public static let secretSource: UInt8 = 5

  /// Derives the device id from evidence.
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

/// The digest of one build of an app: of its executable and its bundle, as they stand on disk.
public struct AppDigest: FixedBytes {
  /// 32 bytes.
  public static var byteCount: Int { 32 }

  let storage: InlineBytes<32>

  /// Checks and takes 32 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "app digest")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }

  /// The numbers of the app sources that can be computed from files alone: executable and bundle.
  public static let sources: ClosedRange<UInt8> = 2...3

  /// Derives the app digest from evidence.
  ///
  /// - Parameter evidence: The app's evidence, or evidence that a tool computed from the app's
  ///   files.
  public init(of evidence: EvidenceSet) {
    var transcript = AttestationWriter(transcript: AttestationWire.appLabel)
    for record in evidence.records(of: .app) where Self.sources.contains(record.source.number) {
      transcript.write(record)
    }
    storage = Digest(hashing: transcript.bytes).storage
  }
}
