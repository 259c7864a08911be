// SPDX-License-Identifier: Apache-2.0

/// The numbers of the attestation's messages; docs/SERVICE.md gives the meaning of each.
package enum AttestationWire {
  static let magic: [UInt8] = [0x50, 0x41]
  /// The version of an answer, and of messages without a key of the installation.
  static let version: UInt8 = 1
  /// The version of questions, challenges and reports with fields about the installation's key.
  static let keyVersion: UInt8 = 2
  /// The version of questions and reports of an app that withholds facts.
  static let collectionVersion: UInt8 = 3
  /// The version of an answer with an admission to a gate.
  static let admissionVersion: UInt8 = 2
  /// The version of an answer with keys of secure strings.
  static let stringVersion: UInt8 = 3
  /// The version of an answer with pairs of measurements to come.
  static let upcomingVersion: UInt8 = 4

  enum Kind: UInt8 {
    case question = 1
    case challenge = 2
    case report = 3
    case answer = 4
  }

  package static let textMax = 1024
  package static let payloadMax = 65_536
  /// The most bytes of a custom token's claims: with the service's own claims they fit a token.
  package static let customPayloadMax = 40_000
  package static let tokenMax = 262_144
  /// The longest measurement configuration.
  static let configMax = 684
  package static let userPropertyMax = 128
  package static let propertiesMax = 64
  package static let recordsMax = 65_536
  /// The fewest bytes of a record: class, number, whether it has a digest, and a name of one byte with its length.
  static let recordMin = 5
  /// The most keys of secure strings in an answer: the active one, and the one before it.
  static let stringKeysMax = 2
  package static let messageMax = 1 << 20

  static let reportLabel = "pfa1.report-key."
  /// The beginning of the message that an installation's key signs. No other use of the key has it.
  static let signatureLabel = "pfa1.install-sig"
  static let answerLabel = "pfa1.answer-key."
  static let deviceLabel = "pfa1.device-id.."
  static let appLabel = "pfa1.app-digest."
  package static let configLabel = "pfa1.config-key."
  package static let handoverType = "handover+jwt"
  /// The most changes of its key that a configuration carries.
  package static let handoversMax = 8
}

/// The purpose of an attestation.
public enum AttestationPurpose: UInt8, Sendable, CaseIterable {
  /// A token for an API.
  case token = 1
  /// A token for an API with the measurements in it.
  case measurement = 2
  /// A secure string.
  case secureString = 3
  /// A token with claims of the app's own.
  case customJWT = 4
  /// The token and the keys for a gate: a ``GateAdmission``.
  case gate = 5
  /// The keys that seal the secure strings which the app defines: ``StringKey``.
  case stringKey = 6
}

/// The tags of reports and answers: keys of their own, derived from the measurement proof key and
/// the challenge's salt.
enum AttestationTag {
  static func tag(
    _ bytes: ArraySlice<UInt8>, label: String, salt: Salt, key: MeasurementProofKey
  ) -> Digest {
    salt.withBytes { salt in
      CoreDerivedMAC.tag(label: label, key: key, info: salt, bytes.span)
    }
  }
}
