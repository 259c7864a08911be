// SPDX-License-Identifier: Apache-2.0

/// The hardware's services to its verifier: randomness, storage, and a clock if there is one.
///
/// The verifier calls it while it holds its lock, one call at a time; an implementation must not
/// call the verifier. Stored bytes are secret: implementations keep no copies of them elsewhere.
public protocol Platform: Sendable {
  /// The seconds since start, never going back; nil if there is no clock. The property is read
  /// once, when the verifier starts.
  var seconds: (@Sendable () -> UInt32)? { get }

  /// Fills a span with random bytes from a cryptographic generator: challenges come from it.
  ///
  /// - Parameter bytes: The span to fill.
  /// - Throws: ``PlatformFailure`` if the generator fails.
  func fillRandom(_ bytes: inout MutableSpan<UInt8>) throws(PlatformFailure)

  /// Reads one stored area. An area never written may read as anything.
  ///
  /// - Parameters:
  ///   - bytes: The span to fill; its length is always the length written to this area.
  ///   - area: Which area.
  /// - Throws: ``PlatformFailure`` if the area cannot be read.
  func read(_ bytes: inout MutableSpan<UInt8>, from area: StorageArea) throws(PlatformFailure)

  /// Writes one stored area, and returns only when the bytes are durable.
  ///
  /// A write that is cut short may damage its own area, and no other.
  ///
  /// - Parameters:
  ///   - bytes: The bytes to write, at most ``StorageArea/byteCountMax``.
  ///   - area: Which area.
  /// - Throws: ``PlatformFailure`` if it is not certain that the bytes are durable.
  func write(_ bytes: Span<UInt8>, to area: StorageArea) throws(PlatformFailure)
}

/// The platform failed at a request. The verifier answers with a verdict.
public struct PlatformFailure: Error, Sendable, Hashable {
  /// A failure. It has no details; the platform logs them.
  public init() {}
}

/// One area of a hardware's storage: one of a record's two copies.
public struct StorageArea: Sendable, Hashable {
  /// The most bytes one area takes.
  public static var byteCountMax: Int { CoreWire.recordMax }
  /// The number of records that a verifier keeps, each in two copies. One that takes delegations
  /// keeps as many more as it has slots.
  public static var recordCount: Int { CoreWire.records }

  /// 0 for the global record, then one for each slot, then one for what each slot was lent.
  public let record: Int
  /// 0 or 1.
  public let copy: Int

  /// Names an area, for the verifier, and for tests that write to storage directly.
  package init(record: Int, copy: Int) {
    self.record = record
    self.copy = copy
  }
}
