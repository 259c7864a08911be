// SPDX-License-Identifier: Apache-2.0

/// The service's answer to a report.
public struct AttestationAnswer: Sendable, Hashable {
  /// The outcome of the report. The numbers are the wire's.
  public enum Outcome: UInt8, Sendable, CaseIterable {
    /// The report succeeded: the token, the secure string or the custom token is in the answer.
    case done = 1
    /// The account has no such API.
    case unknownDomain = 2
    /// The API needs no token.
    case unprotectedDomain = 3
    /// The app failed, and asked for a secure string or a custom token.
    case rejected = 4
    /// The account has not switched this feature on.
    case disabled = 5
    /// The account has no secure string of this name.
    case unknownKey = 6
    /// The name is not a valid name of a secure string.
    case badKey = 7
    /// The payload is no JSON object.
    case badPayload = 8
    /// The salt is unknown, used or expired.
    case askAgain = 9
    /// The report is inconsistent: a tag, an id or a measurement differs.
    case unbelievable = 10
    /// The API's tokens are not encrypted, so no measurement is sent there.
    case notEncrypted = 11
    /// The API has no gate.
    case noGate = 12
  }

  /// The report's salt.
  public let salt: Salt
  /// The outcome of the report.
  public let outcome: Outcome
  /// The serial of the account's newest configuration.
  public var configSerial: UInt32
  /// The serial below which pins must be applied at once.
  public var forcedPinsSerial: UInt32
  /// The token's lifetime in seconds, from the time it was made; 0 without token.
  public var tokenLifetime: UInt32
  /// A token in compact form, or empty.
  public var token: String
  /// The attestation response code, or empty.
  public var responseCode: String
  /// The reasons why the app failed, comma-separated, if the policy reveals them; for a bad
  /// payload, its defect.
  public var rejectionReasons: String
  /// The secure string, if one was asked for and found.
  public var secureString: String?
  /// The account's key for signed messages, if the answer has a token and the account has a key;
  /// random for an app that failed.
  public var messageKey: MessageKey?
  /// The admission to a gate, if one was asked for and ``outcome`` is ``Outcome/done``.
  public var admission: GateAdmission?
  /// The keys of the installation's own secure strings, the active one first, if they were asked for and ``outcome``
  /// is ``Outcome/done``; keys that open nothing for an app that failed. An answer has these or an admission.
  public var stringKeys: [StringKey]
  /// The pairs of measurements to come, beside the token of a present one; empty if there are none.
  public var upcoming: [UpcomingPair]

  /// Describes an answer.
  public init(
    to salt: Salt, _ outcome: Outcome, configSerial: UInt32 = 0, forcedPinsSerial: UInt32 = 0,
    tokenLifetime: UInt32 = 0, token: String = "", responseCode: String = "",
    rejectionReasons: String = "", secureString: String? = nil, messageKey: MessageKey? = nil,
    admission: GateAdmission? = nil, stringKeys: [StringKey] = [],
    upcoming: [UpcomingPair] = []
  ) {
    self.salt = salt
    self.outcome = outcome
    self.configSerial = configSerial
    self.forcedPinsSerial = forcedPinsSerial
    self.tokenLifetime = tokenLifetime
    self.token = token
    self.responseCode = responseCode
    self.rejectionReasons = rejectionReasons
    self.secureString = secureString
    self.messageKey = messageKey
    self.admission = admission
    self.stringKeys = stringKeys
    self.upcoming = upcoming
  }

  /// Reads and checks an answer.
  ///
  /// - Parameters:
  ///   - bytes: The answer's whole body.
  ///   - salt: The report's.
  ///   - key: The key of the SDK build.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``,
  ///   ``ProofError/differs(_:)`` if the tag differs.
  public init(_ bytes: [UInt8], to salt: Salt, with key: MeasurementProofKey) throws(ProofError) {
    var reader = try AttestationReader(
      bytes, .answer, noun: "attestation answer", knowsKeys: true, knowsStrings: true,
      knowsUpcoming: true)
    self.salt = try reader.read(Salt.self)
    guard let outcome = Outcome(rawValue: try reader.readByte()) else { throw reader.malformed }
    self.outcome = outcome
    configSerial = try reader.readUInt32()
    forcedPinsSerial = try reader.readUInt32()
    tokenLifetime = try reader.readUInt32()
    let token = try reader.readBlob(max: AttestationWire.tokenMax)
    guard let text = String(validating: token, as: UTF8.self) else { throw reader.malformed }
    guard !text.isEmpty || tokenLifetime == 0 else { throw reader.malformed }
    self.token = text
    responseCode = try reader.readText()
    rejectionReasons = try reader.readText()
    secureString = try reader.readFlag() ? try reader.readText(max: .max) : nil
    messageKey = try reader.readFlag() ? try reader.readMessageKey() : nil
    // Version 2 has an admission, version 3 keys, version 4 pairs, and version 1 none of them: one answer has one
    // encoding.
    let admission = reader.hasKey ? try reader.readBlob(max: GateAdmission.byteCountMax) : nil
    stringKeys = reader.hasStringKeys ? try reader.readStringKeys() : []
    let upcoming = reader.hasUpcoming ? try reader.readUpcoming() : []
    guard admission == nil && stringKeys.isEmpty && upcoming.isEmpty || outcome == .done else {
      throw reader.malformed
    }
    self.upcoming = upcoming
    let tagged = reader.readBytes
    let tag = try reader.read(Digest.self)
    try reader.finish()
    let expected = AttestationTag.tag(
      tagged, label: AttestationWire.answerLabel, salt: salt, key: key)
    guard self.salt == salt, tag == expected else { throw .differs("tag of the answer") }
    self.admission = try admission.map { bytes throws(ProofError) in try GateAdmission(bytes) }
  }

  /// The bytes to send.
  ///
  /// - Parameter key: The measurement proof key of the report's key id.
  /// - Returns: The bytes, the tag included.
  public func bytes(with key: MeasurementProofKey) -> [UInt8] {
    precondition(
      (admission == nil ? 0 : 1) + (stringKeys.isEmpty ? 0 : 1) + (upcoming.isEmpty ? 0 : 1) <= 1,
      "An answer serves one purpose.")
    var writer = AttestationWriter(.answer, version: version)
    writer.write(salt)
    writer.write(outcome.rawValue)
    writer.write(configSerial)
    writer.write(forcedPinsSerial)
    writer.write(tokenLifetime)
    writer.write(blob: Array(token.utf8))
    writer.write(text: responseCode)
    writer.write(text: rejectionReasons)
    writer.write(secureString == nil ? 0 : 1 as UInt8)
    if let secureString { writer.write(text: secureString) }
    writer.write(messageKey == nil ? 0 : 1 as UInt8)
    messageKey?.withBytes { writer.write($0) }
    if let admission { writer.write(blob: admission.bytes) }
    if !stringKeys.isEmpty {
      precondition(stringKeys.count <= AttestationWire.stringKeysMax)
      writer.write(UInt8(stringKeys.count))
      for key in stringKeys { key.withBytes { writer.write($0) } }
    }
    if !upcoming.isEmpty { writer.write(upcoming) }
    writer.write(
      AttestationTag.tag(
        writer.bytes[...], label: AttestationWire.answerLabel, salt: salt, key: key))
    return writer.bytes
  }

  private var version: UInt8 {
    if admission != nil { return AttestationWire.admissionVersion }
    if !upcoming.isEmpty { return AttestationWire.upcomingVersion }
    return stringKeys.isEmpty ? AttestationWire.version : AttestationWire.stringVersion
  }
}
