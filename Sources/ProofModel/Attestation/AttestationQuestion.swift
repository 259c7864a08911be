// SPDX-License-Identifier: Apache-2.0

/// The app's request for a challenge.
public struct AttestationQuestion: Sendable, Hashable {
  /// The measurement proof key of the app's SDK build.
  public let keyID: KeyID
  /// The device that asks.
  public let device: InstanceID
  /// The purpose of the attestation.
  public let purpose: AttestationPurpose
  /// The serial of the account's configuration that the app has; 0 for none.
  public let configSerial: UInt32
  /// The account.
  public let account: String
  /// The SDK's version.
  public let sdkVersion: String
  /// The API whose gate the app wants to be admitted to; empty for every purpose but
  /// ``AttestationPurpose/gate``.
  public let host: String
  /// The facts that the app withholds.
  public let withheld: CollectionMode
  /// Whether the app has an installation key.
  public let hasKey: Bool
  /// Evidence of the app's TPM, if the service demanded it.
  public let endorsement: Endorsement?

  /// Describes a question.
  public init(
    keyID: KeyID, device: InstanceID, purpose: AttestationPurpose, configSerial: UInt32,
    account: String, sdkVersion: String, host: String = "", hasKey: Bool = false,
    endorsement: Endorsement? = nil, withholding withheld: CollectionMode = []
  ) {
    self.withheld = withheld
    self.host = purpose == .gate ? host : ""
    self.keyID = keyID
    self.device = device
    self.purpose = purpose
    self.configSerial = configSerial
    self.account = account
    self.sdkVersion = sdkVersion
    self.hasKey = hasKey || endorsement != nil
    self.endorsement = endorsement
  }

  /// Reads a question.
  ///
  /// - Parameter bytes: The request's whole body.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    var reader = try AttestationReader(
      bytes, .question, noun: "attestation question", knowsKeys: true, knowsCollection: true)
    keyID = try reader.read(KeyID.self)
    device = try reader.read(InstanceID.self)
    guard let purpose = AttestationPurpose(rawValue: try reader.readByte()) else {
      throw reader.malformed
    }
    self.purpose = purpose
    configSerial = try reader.readUInt32()
    account = try reader.readText()
    sdkVersion = try reader.readText()
    host = purpose == .gate ? try reader.readText() : ""
    withheld = try reader.readCollection()
    hasKey = reader.hasKey
    endorsement = try reader.hasKey ? reader.readEndorsement() : nil
    try reader.finish()
  }

  /// The bytes to send.
  public var bytes: [UInt8] {
    var writer = AttestationWriter(
      .question, version: AttestationWire.version(hasKey: hasKey, withholding: withheld))
    writer.write(keyID)
    writer.write(device)
    writer.write(purpose.rawValue)
    writer.write(configSerial)
    writer.write(text: account)
    writer.write(text: sdkVersion)
    if purpose == .gate { writer.write(text: host) }
    writer.write(withheld, hasKey: hasKey)
    if hasKey { writer.write(endorsement) }
    return writer.bytes
  }
}
