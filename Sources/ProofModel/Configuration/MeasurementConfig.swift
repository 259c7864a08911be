// SPDX-License-Identifier: Apache-2.0

/// The sources to measure, the salt, and the baseline to compare with.
///
/// The service makes it, the app stores its bytes, and the bytes enter the integrity measurement. A
/// value of this type is always intact: its initialiser checks the bytes, and later code does not
/// check again. It holds no usable secret.
public struct MeasurementConfig: Sendable {
  /// The most bytes that one has.
  package static var byteCountMax: Int { CoreWire.configMax }

  let core: CoreConfig

  init(core: CoreConfig) { self.core = core }

  /// Checks and takes the bytes of a stored configuration.
  ///
  /// - Parameter bytes: All bytes, and no more.
  /// - Throws: In this order ``ProofError/configForeign(byteCount:)``,
  ///   ``ProofError/configDamaged(byteCount:)``, ``ProofError/configTooNew(version:suite:)``,
  ///   ``ProofError/configMalformed(byteCount:)``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    core = try CoreConfig(bytes)
  }

  /// The bytes to store.
  public var bytes: [UInt8] { core.bytes }

  /// The mode of the key the configuration was made for.
  public var mode: Mode { core.mode }

  /// The way the app may measure.
  public var policy: MeasurementPolicy { core.policy }

  /// 1 or more; grows with every configuration of one app instance.
  public var generation: UInt32 { core.generation }

  /// The measurement proof key the configuration was made for.
  public var keyID: KeyID { core.keyID }

  /// The service's salt.
  public var salt: Salt { core.salt }

  /// The sources to measure, in order.
  public var sources: [Source] { core.sources }

  /// The most bytes of files that the app reads.
  public var byteCountLimit: UInt64 { 1 << UInt64(core.limitLog2) }

  /// The number of leaves: the sum of the sources' groups.
  public var leafCount: Int { core.leafCount }

  /// The source of this name, if it is asked for.
  ///
  /// - Parameter id: The source's name.
  /// - Returns: The source, or nil.
  public func source(_ id: SourceID) -> Source? {
    core.index(of: id).map { core.sources[$0] }
  }

  /// The group that a record belongs to: an index over the groups of all sources.
  ///
  /// - Parameter record: The record.
  /// - Returns: 0 up to ``leafCount``, or nil if the record's source is not asked for.
  public func group(of record: EvidenceRecord) -> Int? {
    core.group(of: record)
  }

  /// Checks that the configuration was made for a key.
  ///
  /// - Parameter key: This build's key.
  /// - Throws: ``ProofError/configForOtherMode(config:key:)`` if only the mode differs,
  ///   ``ProofError/configForOtherKey(config:key:)`` otherwise. Device proofs still work then.
  public func check(_ key: MeasurementProofKey) throws(ProofError) {
    try core.check(key)
  }
}

extension MeasurementConfig: Hashable {
  /// Whether the bytes are equal.
  public static func == (left: MeasurementConfig, right: MeasurementConfig) -> Bool {
    left.bytes == right.bytes
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

extension MeasurementConfig: CustomStringConvertible {
  /// Mode, generation, key and size.
  public var description: String {
    "measurement configuration: \(mode), generation \(generation), key \(keyID), "
      + "\(sources.count) sources, \(bytes.count) bytes"
  }
}
