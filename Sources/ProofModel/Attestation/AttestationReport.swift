// SPDX-License-Identifier: Apache-2.0

/// The app's report of itself, in answer to a challenge. Holds the measurements: secret.
public struct AttestationReport: Sendable {
  /// The report's fields beside the evidence.
  public struct Subject: Sendable, Hashable {
    /// The purpose of the attestation.
    public var purpose: AttestationPurpose
    /// The API's domain, or the secure string's name.
    public var name: String
    /// The claims of a custom token, or a secure string's new definition.
    public var payload: [UInt8]
    /// The app's own statement, at most 128 bytes; `$error` marks a wrong measurement.
    public var userProperty: String
    /// The account's development key, or empty.
    public var developmentKey: String
    /// SHA-256 of the data that the token is to be bound to.
    public var dataHash: Digest?
    /// The SDK's observations, for policies and people.
    public var properties: [Property]

    /// Describes the subject of a report.
    public init(
      _ purpose: AttestationPurpose, name: String = "", payload: [UInt8] = [],
      userProperty: String = "", developmentKey: String = "", dataHash: Digest? = nil,
      properties: [Property] = []
    ) {
      self.purpose = purpose
      self.name = name
      self.payload = payload
      self.userProperty = userProperty
      self.developmentKey = developmentKey
      self.dataHash = dataHash
      self.properties = properties
    }
  }

  /// One observation of the SDK.
  public struct Property: Sendable, Hashable {
    /// The property's name, such as `os`.
    public let name: String
    /// The property's value, such as `Debian GNU/Linux 12`.
    public let value: String

    /// Describes one observation.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The report's sender and its challenge. It stands first, so that a service can read it before
  /// the fields whose length the app chooses.
  public struct Head: Sendable, Hashable {
    /// The measurement proof key of the app's SDK build.
    public let keyID: KeyID
    /// The challenge's salt.
    public let salt: Salt
    /// The device that reports.
    public let device: InstanceID
    /// The purpose of the attestation.
    public let purpose: AttestationPurpose
    /// The serial of the account's configuration that the app has; 0 for none.
    public let configSerial: UInt32
    /// The account.
    public let account: String
    /// The API whose gate the app wants to be admitted to; empty for every purpose but
    /// ``AttestationPurpose/gate``.
    public let host: String

    /// Reads the head of a report, and ignores the bytes behind it.
    ///
    /// - Parameter bytes: The request's whole body.
    /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
    public init(_ bytes: [UInt8]) throws(ProofError) {
      var reader = try AttestationReader(
        bytes, .report, noun: "attestation report", knowsKeys: true, knowsCollection: true)
      try self.init(from: &reader)
    }

    fileprivate init(from reader: inout AttestationReader) throws(ProofError) {
      keyID = try reader.read(KeyID.self)
      salt = try reader.read(Salt.self)
      device = try reader.read(InstanceID.self)
      guard let purpose = AttestationPurpose(rawValue: try reader.readByte()) else {
        throw reader.malformed
      }
      self.purpose = purpose
      configSerial = try reader.readUInt32()
      account = try reader.readText()
      host = purpose == .gate ? try reader.readText() : ""
    }
  }

  /// The report's sender and its challenge.
  public let head: Head
  /// The measurement proof key of the app's SDK build.
  public var keyID: KeyID { head.keyID }
  /// The challenge's salt.
  public var salt: Salt { head.salt }
  /// The device that reports.
  public var device: InstanceID { head.device }
  /// The serial of the account's configuration that the app has; 0 for none.
  public var configSerial: UInt32 { head.configSerial }
  /// The account.
  public var account: String { head.account }
  /// The subject of the report.
  public let subject: Subject
  /// The SDK's version.
  public let sdkVersion: String
  /// The app's evidence.
  public let evidence: EvidenceSet
  /// The facts that the app withholds.
  public let withheld: CollectionMode
  /// The key that signed the report; nil if none did.
  public let key: InstallationClaim?
  /// The signature under ``key``. The service verifies it, over ``signedMessage``.
  public let signature: InstallationSignature?
  /// The input of ``signature``: a label, and the whole report before the signature.
  public let signedMessage: [UInt8]

  private let integrity: Digest
  private let deviceMeasurement: Digest
  private let tagged: ArraySlice<UInt8>
  private let tag: Digest

  /// Reads a report. Do not use its fields before ``measurement(under:with:)`` has checked it.
  ///
  /// - Parameter bytes: The request's whole body.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    var reader = try AttestationReader(
      bytes, .report, noun: "attestation report", knowsKeys: true, knowsCollection: true)
    head = try Head(from: &reader)
    var subject = Subject(
      head.purpose, name: try head.purpose == .gate ? head.host : reader.readText())
    subject.payload = try reader.readBlob(max: AttestationWire.payloadMax)
    sdkVersion = try reader.readText()
    subject.userProperty = try reader.readText(max: AttestationWire.userPropertyMax)
    subject.developmentKey = try reader.readText()
    if try reader.readFlag() { subject.dataHash = try reader.read(Digest.self) }
    let count = try reader.readByte()
    guard count <= AttestationWire.propertiesMax else { throw reader.malformed }
    for _ in 0..<count {
      subject.properties.append(try Property(reader.readText(), reader.readText()))
    }
    self.subject = subject
    evidence = try reader.readRecords()
    integrity = try reader.read(Digest.self)
    deviceMeasurement = try reader.read(Digest.self)
    withheld = try reader.readCollection()
    key = try reader.hasKey ? reader.readClaim() : nil
    signedMessage = key == nil ? [] : Self.signedMessage(reader.readBytes)
    signature = try key == nil ? nil : reader.read(InstallationSignature.self)
    tagged = reader.readBytes
    tag = try reader.read(Digest.self)
    try reader.finish()
  }

  /// Repeats the app's computation on the app's evidence, and compares the results with the report.
  ///
  /// - Parameters:
  ///   - draft: The challenge's draft, under the salt that the report names.
  ///   - key: The measurement proof key of the report's key id.
  /// - Returns: The measurement configuration and the measurement.
  /// - Throws: ``ProofError/differs(_:)`` if the tag, the instance id or a measurement differs, and
  ///   the errors of ``MeasurementConfig`` for records that were not asked for or are missing.
  public func measurement(
    under draft: BaselineDraft, with key: MeasurementProofKey
  ) throws(ProofError) -> (config: MeasurementConfig, measurement: Measurement) {
    var fold = try authenticFold(under: draft, with: key)
    let config = MeasurementConfig(core: try fold.measure(again: evidence, with: key))
    let measurement = Measurement(core: try fold.finish())
    guard measurement.matches(integrity, .integrity) else {
      throw .differs("integrity measurement")
    }
    guard measurement.matches(deviceMeasurement, .device) else {
      throw .differs("device measurement")
    }
    return (config, measurement)
  }

  /// Does the same check as ``measurement(under:with:)`` but returns no values, and so allocates no
  /// guarded memory.
  package func check(
    under draft: BaselineDraft, with key: MeasurementProofKey
  ) throws(ProofError) {
    var fold = try authenticFold(under: draft, with: key)
    _ = try fold.measure(again: evidence, with: key)
    let differing: String? = try fold.finish { integrity, device in
      guard self.integrity.withBytes({ integrity.equals($0) }) else {
        return "integrity measurement"
      }
      return deviceMeasurement.withBytes { device.equals($0) } ? nil : "device measurement"
    }
    if let differing { throw .differs(differing) }
  }

  /// Repeats the app's baseline, after checking the report's tag, salt and instance id.
  private func authenticFold(
    under draft: BaselineDraft, with key: MeasurementProofKey
  ) throws(ProofError) -> CoreFold {
    let expected = AttestationTag.tag(
      tagged, label: AttestationWire.reportLabel, salt: salt, key: key)
    guard draft.salt == salt, expected == tag else { throw .differs("tag of the report") }
    guard device == InstanceID(of: evidence, account: account) else {
      throw .differs("instance id")
    }
    return try CoreFold(baseline: draft, of: evidence, with: key)
  }

  /// Makes a report: a measurement configuration from the challenge, a measurement under it.
  ///
  /// - Parameters:
  ///   - subject: The subject of the report.
  ///   - evidence: The app's evidence.
  ///   - challenge: The service's.
  ///   - account: The account.
  ///   - configSerial: The serial of the configuration that the app has; 0 for none.
  ///   - sdkVersion: The SDK's version.
  ///   - key: The key of the SDK build.
  ///   - withheld: The facts that the app withholds.
  ///   - installation: The installation's key; nil if it has none.
  /// - Returns: The bytes to send, and the configuration to keep if the service agrees.
  /// - Throws: The errors of ``MeasurementConfig``, and ``ProofError/differs(_:)`` if the
  ///   installation's key does not sign.
  public static func make(
    _ subject: Subject, of evidence: EvidenceSet, answering challenge: AttestationChallenge,
    account: String, configSerial: UInt32, sdkVersion: String, with key: MeasurementProofKey,
    withholding withheld: CollectionMode = [],
    signedBy installation: InstallationClaim.Signer? = nil
  ) throws(ProofError) -> (bytes: [UInt8], config: MeasurementConfig) {
    var fold = try CoreFold(baseline: challenge.draft, of: evidence, with: key)
    let config = MeasurementConfig(core: try fold.measure(again: evidence, with: key))
    var writer = AttestationWriter(
      .report,
      version: AttestationWire.version(hasKey: installation != nil, withholding: withheld))
    writer.write(key.id)
    writer.write(challenge.draft.salt)
    writer.write(InstanceID(of: evidence, account: account))
    writer.write(subject.purpose.rawValue)
    writer.write(configSerial)
    writer.write(text: account)
    writer.write(text: subject.name)
    writer.write(blob: subject.payload)
    writer.write(text: sdkVersion)
    writer.write(text: subject.userProperty)
    writer.write(text: subject.developmentKey)
    writer.write(subject.dataHash == nil ? 0 : 1 as UInt8)
    if let hash = subject.dataHash { writer.write(hash) }
    writer.write(UInt8(subject.properties.count))
    for property in subject.properties {
      writer.write(text: property.name)
      writer.write(text: property.value)
    }
    writer.write(UInt32(evidence.records.count))
    for record in evidence.records { writer.write(record) }
    try fold.finish { integrity, device in
      writer.write(integrity)
      writer.write(device)
    }
    writer.write(withheld, hasKey: installation != nil)
    if let installation {
      writer.write(installation.claim)
      guard let signature = installation.sign(signedMessage(writer.bytes[...])) else {
        throw .differs("signature of the installation key")
      }
      writer.write(signature)
    }
    writer.write(
      AttestationTag.tag(
        writer.bytes[...], label: AttestationWire.reportLabel, salt: challenge.draft.salt, key: key)
    )
    return (writer.bytes, config)
  }

  private static func signedMessage(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    Array(AttestationWire.signatureLabel.utf8) + bytes
  }
}

extension AttestationReport: CustomStringConvertible, CustomReflectable {
  /// The public part.
  public var description: String {
    "attestation report: account \(account), device \(device), \(evidence.records.count) records"
  }

  /// Shows the public part.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension CoreFold {
  /// The baseline of evidence.
  fileprivate init(
    baseline draft: BaselineDraft, of evidence: EvidenceSet, with key: MeasurementProofKey
  ) throws(ProofError) {
    self.init(baseline: draft, with: key)
    try update(evidence)
  }

  /// The configuration that the baseline of evidence gives, and the measurement of the same evidence under it.
  fileprivate mutating func measure(
    again evidence: EvidenceSet, with key: MeasurementProofKey
  ) throws(ProofError) -> CoreConfig {
    let config = try measureBaseline(with: key)
    try update(evidence)
    return config
  }
}

extension Measurement {
  /// Compares in constant time.
  fileprivate func matches(_ digest: Digest, _ part: Part) -> Bool {
    withBytes(of: part) { secret in digest.withBytes { secret.equals($0) } }
  }
}
