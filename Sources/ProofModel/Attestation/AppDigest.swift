// SPDX-License-Identifier: Apache-2.0

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
    for record in evidence.records
    where record.source.evidenceClass == .app && Self.sources.contains(record.source.number) {
      transcript.write(record)
    }
    storage = Digest(hashing: transcript.bytes).storage
  }
}
