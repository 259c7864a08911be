// SPDX-License-Identifier: Apache-2.0

/// The service's challenge: the sources to measure, and the salt.
public struct AttestationChallenge: Sendable, Hashable {
  /// The draft from which the app makes the measurement configuration. Its salt is good for one
  /// report.
  public let draft: BaselineDraft
  /// The salt's lifetime, in seconds.
  public let lifetime: UInt16
  /// The serial of the account's newest configuration.
  public let configSerial: UInt32
  /// The service's demand on the installation's key; nil for an app that asked without one.
  public let key: KeyDemand?

  /// Describes a challenge.
  public init(
    _ draft: BaselineDraft, lifetime: UInt16, configSerial: UInt32, key: KeyDemand? = nil
  ) {
    self.key = key
    self.draft = draft
    self.lifetime = lifetime
    self.configSerial = configSerial
  }

  /// Reads a challenge.
  ///
  /// - Parameter bytes: The answer's whole body.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``, and the errors of
  ///   a ``BaselineDraft``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    var reader = try AttestationReader(
      bytes, .challenge, noun: "attestation challenge", knowsKeys: true)
    let salt = try reader.read(Salt.self)
    lifetime = try reader.readUInt16()
    guard let policy = MeasurementPolicy(rawValue: try reader.readByte()) else {
      throw reader.malformed
    }
    let limitLog2 = try reader.readByte()
    let generation = try reader.readUInt32()
    configSerial = try reader.readUInt32()
    var sources: [Source] = []
    for _ in 0..<(try reader.readByte()) {
      guard let evidenceClass = EvidenceClass(rawValue: try reader.readByte()) else {
        throw reader.malformed
      }
      let source = try Source(
        SourceID(evidenceClass, reader.readByte()), version: reader.readByte(),
        groupsLog2: reader.readByte())
      // Require the canonical order, so that one challenge has one encoding.
      if let last = sources.last, !(last.id < source.id) { throw reader.malformed }
      sources.append(source)
    }
    key = try reader.hasKey ? reader.readDemand() : nil
    try reader.finish()
    draft = try BaselineDraft(
      salt: salt, sources: sources, policy: policy, generation: generation, limitLog2: limitLog2)
  }

  /// The bytes to send.
  public var bytes: [UInt8] {
    var writer = AttestationWriter(
      .challenge, version: AttestationWire.version(hasKey: key != nil))
    writer.write(draft.salt)
    writer.write(lifetime)
    writer.write(draft.policy.rawValue)
    writer.write(draft.limitLog2)
    writer.write(draft.generation)
    writer.write(configSerial)
    writer.write(UInt8(draft.sources.count))
    for source in draft.sources {
      writer.write(source.id.evidenceClass.rawValue)
      writer.write(source.id.number)
      writer.write(source.version)
      writer.write(source.groupsLog2)
    }
    if let key { writer.write(key) }
    return writer.bytes
  }
}
