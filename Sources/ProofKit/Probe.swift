// SPDX-License-Identifier: Apache-2.0

public import ProofModel
import Synchronization

/// Observes this app as it runs: its code in memory, its files, its environment, its device.
///
/// A probe caches digests, so that under ``/ProofModel/MeasurementPolicy/incremental`` only the
/// first measurement reads everything. It never decides whether something was tampered with:
/// observations become evidence, evidence a measurement, and the verifier decides.
/// ``diagnose(_:key:)`` shows people the differences.
///
/// Libraries that the app opens by itself must be open before the first measurement, and none may
/// be closed while one is in progress.
public final class Probe: EvidenceObserver {
  /// The progress of a measurement.
  public struct Progress: Sendable, Hashable {
    /// Files, folders and links done.
    public let fileCount: UInt64
    /// Bytes of files and code done, read or known.
    public let byteCount: UInt64
  }

  /// A further folder of the app.
  public struct Folder: Sendable, Hashable {
    /// The folder's name, 1 to 64 bytes with no slash; no two folders have the same.
    public let name: String
    /// The folder's path on this device.
    public let path: String

    /// Names a folder. A ``Probe`` refuses a name that is out of range.
    public init(_ name: String, path: String) {
      self.name = name
      self.path = path
    }
  }

  /// The set-up of a probe.
  public struct Options: Sendable {
    /// Another executable than this process's, for tools that look at an app's files.
    package var executable: String?
    /// The folder that is the app's bundle; nil if the app has none.
    public var bundle: String?
    /// Further folders that belong to the app, such as an interpreter's libraries: at most 8, in any
    /// order, by names that are the same on every device.
    public var folders: [Folder]
    /// The folder of the storage secret, open to this user alone; nil if there is none.
    public var storage: String?
    /// Names (SONAMEs) of the libraries that the app itself opens at run time.
    public var plugins: [String]
    /// Whether to restrict other processes of the same user from inspecting this process.
    public var hardens: Bool
    /// The most files that stay open between measurements, which makes the next one faster.
    public var keptDescriptorCount: UInt32
    /// The most memory, in bytes, for the cache of the bundle between measurements, and as much
    /// again for each further folder. nil is 64 MiB; 0 caches nothing.
    ///
    /// Memory is taken as files are cached: 80 bytes for each, and its name. The policy `full`
    /// caches nothing.
    public var cacheByteLimit: UInt32?
    /// The facts that the app withholds; the probe does not collect them.
    public var collection: CollectionMode

    /// Describes the set-up of a probe.
    public init(
      bundle: String? = nil, folders: [Folder] = [], storage: String? = nil,
      plugins: [String] = [], hardens: Bool = true, keptDescriptorCount: UInt32 = 0,
      cacheByteLimit: UInt32? = nil, collection: CollectionMode = []
    ) {
      self.collection = collection
      self.bundle = bundle
      self.folders = folders
      self.storage = storage
      self.plugins = plugins
      self.hardens = hardens
      self.keptDescriptorCount = keptDescriptorCount
      self.cacheByteLimit = cacheByteLimit
    }
  }

  private let core: CoreLock<CoreProbe>
  /// The facts that the app withholds.
  public let collection: CollectionMode

  /// Makes a probe, and the storage secret if there is none yet.
  ///
  /// - Parameter options: The executable, folders and libraries to observe.
  /// - Throws: ``/ProofModel/ProofError/evidenceUnavailable(reason:)`` if the storage folder is
  ///   missing or open to others, or if memory runs out.
  public init(_ options: Options) throws(ProofError) {
    collection = options.collection
    core = CoreLock(try CoreProbe(options))
  }

  /// Observes the sources that a configuration asks for, now, on the calling thread.
  public func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet {
    try checkWithheld(config.sources)
    return try withCore { core throws(ProofError) in try core.collect(for: config, pace: Pace()) }
  }

  /// Measures under a configuration, now, on the calling thread. The evidence is wiped.
  public func measurement(
    under config: MeasurementConfig, with key: MeasurementProofKey
  ) throws(ProofError) -> Measurement {
    try checkWithheld(config.sources)
    return try withCore { core throws(ProofError) in
      try core.measure(config, key: key, pace: Pace())
    }
  }

  /// Checks again for debuggers and tracers. If the result has changed, the proof is replaced.
  public func release(_ proof: inout Proof, after previous: Proof?) throws(ProofError) {
    let (made, isFirst) = (proof, previous == nil)
    proof = try withCore { core throws(ProofError) in try core.release(made, isFirst: isFirst) }
  }

  /// Runs a closure, and keeps other programs from setting hardware breakpoints in the calling thread.
  public func guarding<R>(_ body: () throws(ProofError) -> R) throws(ProofError) -> R {
    CoreProbe.hold()
    defer { CoreProbe.letGo() }
    return try body()
  }

  /// Observes the sources that a configuration asks for, off the calling thread. Cancelling the
  /// task stops it.
  ///
  /// - Parameters:
  ///   - config: The configuration that names the sources.
  ///   - progress: Called now and then, on another thread.
  /// - Returns: The evidence.
  /// - Throws: `CancellationError`, and the errors of ``collect(for:)``.
  public func evidence(
    for config: MeasurementConfig, progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws -> EvidenceSet {
    try checkWithheld(config.sources)
    return try await run(progress) { core, pace throws(ProofError) in
      try core.collect(for: config, pace: pace)
    }
  }

  /// Every source that this SDK can collect, in its newest version, for a new baseline.
  public static var sources: [Source] { CoreProbe.sources }

  /// Observes sources for a new baseline, off the calling thread, before there is a configuration.
  ///
  /// - Parameters:
  ///   - sources: The sources that the service asks for, in order.
  ///   - policy: How to measure.
  ///   - limitLog2: At most 2 to this power bytes of files are read, 16 to 50.
  ///   - progress: Called now and then, on another thread.
  /// - Returns: The evidence, for the service.
  /// - Throws: `CancellationError`, ``/ProofModel/ProofError/outOfRange(field:value:allowed:)``,
  ///   and the errors of ``collect(for:)``.
  public func evidence(
    of sources: [Source], policy: MeasurementPolicy = .full, limitLog2: UInt8 = 33,
    progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws -> EvidenceSet {
    try checkWithheld(sources)
    let limit = try Self.byteCountLimit(limitLog2)
    return try await run(progress) { core, pace throws(ProofError) in
      try core.collect(sources, policy: policy, byteCountLimit: limit, pace: pace)
    }
  }

  /// Observes sources for an attestation, now, on the calling thread.
  public func observe(
    _ sources: [Source], policy: MeasurementPolicy, limitLog2: UInt8, cancellation: Cancellation
  ) throws(ProofError) -> Observation {
    try checkWithheld(sources)
    let limit = try Self.byteCountLimit(limitLog2)
    let pace = Pace()
    return try cancellation.withHandler({ pace.cancel() }) { () throws(ProofError) in
      try withCore { core throws(ProofError) in
        try core.observe(sources, policy: policy, byteCountLimit: limit, pace: pace)
      }
    }
  }

  /// Lists the differences from a baseline, for people, on the calling thread.
  public func differences(from config: MeasurementConfig) throws(ProofError) -> Diagnosis {
    try checkWithheld(config.sources)
    return try withCore { core throws(ProofError) in
      try core.diagnose(config, key: .sdk, pace: Pace())
    }
  }

  /// Keeps an index of the bundle's entries, on the calling thread.
  public func noteEntries(of config: MeasurementConfig) throws(ProofError) {
    try withCore { core throws(ProofError) in try core.index(config, key: .sdk, pace: Pace()) }
  }

  /// Checks a limit against the range that a configuration may have, because the caller's number is
  /// unchecked.
  private static func byteCountLimit(_ log2: UInt8) throws(ProofError) -> UInt64 {
    guard (16...50).contains(log2) else {
      throw .outOfRange(
        field: "limit on bytes read", value: "2^\(log2)", allowed: "2^16 to 2^50")
    }
    return 1 << UInt64(log2)
  }

  /// Measures the app, off the calling thread. Cancelling the task stops it.
  ///
  /// - Parameters:
  ///   - config: The configuration to measure under.
  ///   - key: This build's key, unless a test has its own.
  ///   - progress: Called now and then, on another thread.
  /// - Returns: IM and DM.
  /// - Throws: `CancellationError`, and the errors of ``collect(for:)``.
  public func measure(
    _ config: MeasurementConfig, key: MeasurementProofKey = .sdk,
    progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws -> Measurement {
    try checkWithheld(config.sources)
    return try await run(progress) { core, pace throws(ProofError) in
      try core.measure(config, key: key, pace: pace)
    }
  }

  /// Lists the differences from the baseline, for people.
  ///
  /// - Parameters:
  ///   - config: The baseline's configuration.
  ///   - key: This build's key, unless a test has its own.
  /// - Returns: The differences, in words and as values.
  /// - Throws: `CancellationError`, and the errors of ``collect(for:)``.
  public func diagnose(
    _ config: MeasurementConfig, key: MeasurementProofKey = .sdk
  ) async throws -> Diagnosis {
    try checkWithheld(config.sources)
    return try await run(nil) { core, pace throws(ProofError) in
      try core.diagnose(config, key: key, pace: pace)
    }
  }

  /// Keeps an index of the bundle's entries in the storage folder, so that a later diagnosis names
  /// the entry that changed. Call it after adopting a configuration; it reads the bundle.
  ///
  /// - Parameters:
  ///   - config: The configuration, whose baseline the bundle must be.
  ///   - key: This build's key, unless a test has its own.
  /// - Throws: `CancellationError`; ``/ProofModel/ProofError/evidenceUnavailable(reason:)`` if
  ///   bundle or storage is missing, or the bundle is not the configuration's.
  public func index(_ config: MeasurementConfig, key: MeasurementProofKey = .sdk) async throws {
    try await run(nil) { core, pace throws(ProofError) in
      try core.index(config, key: key, pace: pace)
    }
  }

  /// Empties the cache: the next measurement reads everything, whatever the policy.
  public func forget() {
    core.withLock { $0.forget() }
  }

  private func withCore<Value>(
    _ body: (borrowing CoreProbe) throws(ProofError) -> Value
  ) throws(ProofError) -> Value {
    // `withLock` requires a result that is sendable between regions, which a Result of values is.
    let result = core.withLock { core -> Result<Value, ProofError> in
      do throws(ProofError) { return .success(try body(core)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// A measurement blocks its thread, so run it on one outside the shared pool.
  private func run<Value: Sendable>(
    _ progress: (@Sendable (Progress) -> Void)?,
    _ body: @escaping @Sendable (borrowing CoreProbe, Pace) throws(ProofError) -> Value
  ) async throws -> Value {
    let pace = Pace(report: progress)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        CorePool.fetches.run {
          do throws(ProofError) {
            continuation.resume(
              returning: try self.withCore { core throws(ProofError) in try body(core, pace) })
          } catch {
            let reason: any Error = pace.isCancelled ? CancellationError() : error
            continuation.resume(throwing: reason)
          }
        }
      }
    } onCancel: {
      pace.cancel()
    }
  }
}

/// The progress and cancellation of one measurement while it runs.
final class Pace: Sendable {
  private let report: (@Sendable (Probe.Progress) -> Void)?
  private let cancelled = Atomic<Bool>(false)

  init(report: (@Sendable (Probe.Progress) -> Void)? = nil) { self.report = report }

  var isCancelled: Bool { cancelled.load(ordering: .relaxed) }
  func cancel() { cancelled.store(true, ordering: .relaxed) }

  /// Reports progress, and returns whether to continue.
  func step(_ progress: Probe.Progress) -> Bool {
    if isCancelled { return false }
    report?(progress)
    return !isCancelled
  }
}
