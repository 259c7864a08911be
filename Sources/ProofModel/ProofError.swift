// SPDX-License-Identifier: Apache-2.0

/// The reason why a value could not be made, opened, read or authenticated.
///
/// Every function of this library that can fail throws this type and no other. The words give the
/// failure, the value and the next step; they never contain a secret.
public enum ProofError: Error, Sendable, Hashable {
  // Wrong arguments.

  /// Bytes have the wrong length.
  case wrongLength(of: String, expected: ClosedRange<Int>, actual: Int)
  /// A text is not the hexadecimal digits of a value.
  case notHexadecimal(of: String, digitCount: Int)
  /// Bytes are all zeros: a caller left a value unset.
  case allZeros(of: String)
  /// A value is outside its range, or contradicts another.
  case outOfRange(field: String, value: String, allowed: String)

  // Measurement configurations.

  /// The bytes do not begin like a measurement configuration.
  case configForeign(byteCount: Int)
  /// The configuration's tag does not match: bytes were lost or changed since it was stored.
  case configDamaged(byteCount: Int)
  /// The configuration is intact, but of a version or suite that this build does not know.
  case configTooNew(version: UInt8, suite: UInt8)
  /// The configuration is intact, but a field is out of range.
  case configMalformed(byteCount: Int)
  /// The configuration was made for another measurement proof key: for another build of the SDK.
  case configForOtherKey(config: KeyID, key: KeyID)
  /// The configuration was made for a key of the other mode.
  case configForOtherMode(config: Mode, key: Mode)

  // Evidence.

  /// Two records have the same source and name.
  case evidenceRepeated(EvidenceName)
  /// A record comes before one that it must follow.
  case evidenceOutOfOrder(EvidenceName)
  /// A record is of a source that the configuration does not ask for.
  case evidenceNotAskedFor(EvidenceName)
  /// Sources that the configuration asks for have no record, not even of absence.
  case evidenceMissing([SourceID])
  /// The configuration asks for sources that the app withholds: it was made under another collection
  /// mode.
  case evidenceWithheld([SourceID])
  /// The collector of evidence failed.
  case evidenceUnavailable(reason: String)
  /// The app could not be measured, because memory, threads or descriptors ran out. This says nothing
  /// about the app.
  case resourcesExhausted(reason: String)
  /// A record or an end came after the measurement had refused a record, and so had ended.
  case measurementEnded

  // Tokens, orders and messages.

  /// Bytes do not parse as the named structure.
  case malformed(String, byteCount: Int)
  /// Received bytes are of a version or suite that this build does not know.
  case tooNew(String)
  /// A token or order is for other hardware, or was altered.
  case notForThisHardware(String)
  /// A token or order is not signed by an issuer that this hardware knows, or was altered.
  case notSigned(String)
  /// A token is of the other mode, or in the literal form where that is not allowed.
  case wrongMode(String)
  /// A hardware public key is not a point that anything can be sealed to.
  case unusablePublicKey(of: HardwareID)
  /// A gate's public key is not a point that anything can be sealed to.
  case unusableGateKey(number: UInt8)

  // Proofs and answers.

  /// A proof, receipt or tag is not the expected one.
  case differs(String)
  /// The answer has no receipt, so anyone on the link could have forged it.
  case unauthenticated(Verdict)
  /// The answer is to another challenge or recall.
  case answerToAnother(expected: UInt64, actual: UInt64)
  /// The answer is to a recall of the command, and was read as the command's own.
  case answerToRecall(Verdict)

  // The platform.

  /// Storage failed.
  case storageFailed
  /// A stored record has no intact copy.
  case storageDamaged
  /// The generator of random numbers failed, or repeats itself.
  case randomFailed

  // The hardware's log.

  /// To check a part of a log takes more key steps than the caller allows, or the part begins before
  /// the reader's first entry. It is no sign of forgery.
  case logTooFar(steps: UInt64)
}

extension ProofError: CustomStringConvertible {
  /// The failure, the value and the next step, as text.
  public var description: String {
    switch self {
    case .wrongLength(let noun, let expected, let actual):
      "The \(noun) has \(actual) bytes; it must have \(Self.text(of: expected))."
    case .notHexadecimal(let type, let count):
      "The text is no \(type): it must have \(count) hexadecimal digits. Copy what the tools print."
    case .allZeros(let noun):
      "The \(noun) is all zeros, so it was never set. Pass a value that was drawn or derived."
    case .outOfRange(let field, let value, let allowed):
      "The \(field) is \(value); allowed: \(allowed)."

    case .configForeign(let count):
      "These \(count) bytes are not a measurement configuration. Look for the right file."
    case .configDamaged(let count):
      "The measurement configuration (\(count) bytes) is damaged: its tag does not match. Restore "
        + "the file, or measure a new baseline."
    case .configTooNew(let version, let suite):
      "The measurement configuration is of version \(version), suite \(suite); this build knows "
        + "version 1, suite 1. Update the app."
    case .configMalformed(let count):
      "The measurement configuration (\(count) bytes) is intact, but a field is out of range: a "
        + "defective service made it. Measure a new baseline with a service that works."
    case .configForOtherKey(let config, let key):
      "The measurement configuration is for key \(config), this build has key \(key): the SDK was "
        + "updated. Device proofs still work; for integrity proofs measure a new baseline."
    case .configForOtherMode(let config, let key):
      "The measurement configuration is for \(config) mode, this build's key for \(key) mode. Use "
        + "a build and a baseline of one mode."

    case .evidenceRepeated(let name):
      "There are two records of \(name). Record each name of a source once."
    case .evidenceOutOfOrder(let name):
      "The record of \(name) comes after one that it should precede. Use an EvidenceSet: it sorts."
    case .evidenceNotAskedFor(let name):
      "The record of \(name) is of a source that the configuration does not ask for. Leave it out."
    case .evidenceMissing(let sources):
      "There is no record of \(sources.map(\.description).joined(separator: ", ")). Record what "
        + "cannot be read as absent."
    case .evidenceWithheld(let sources):
      "The configuration asks for what this app withholds ("
        + sources.map { "\($0)" }.joined(separator: ", ")
        + "): it was made under another collection mode. Fetch a measurement under the present mode."
    case .evidenceUnavailable(let reason):
      "The evidence could not be collected: \(reason)."
    case .resourcesExhausted(let reason):
      "The app could not be measured: \(reason). Close files and other programs, then try again."
    case .measurementEnded:
      "The measurement refused an earlier record or has ended. Begin a new one."

    case .malformed(let noun, let count):
      "The \(noun) (\(count) bytes) does not parse. Its sender or the link is defective."
    case .tooNew(let noun):
      "The \(noun) is of a version or suite that this build does not know. Update this side."
    case .notForThisHardware(let noun):
      "The \(noun) is for other hardware, or was altered. Ask the backend for one for this hardware."
    case .notSigned(let noun):
      "The \(noun) is not signed by an issuer that this hardware knows. Ask the backend."
    case .wrongMode(let noun):
      "The \(noun) is of the other mode, or literal where that is not allowed. Use a build of the "
        + "hardware's mode."
    case .unusablePublicKey(let hardware):
      "Nothing can be sealed to the public key of hardware \(hardware). Check what the factory "
        + "wrote down."

    case .unusableGateKey(let number):
      "Nothing can be sealed to the gate's public key number \(number). Check the gate's record."

    case .differs(let noun):
      "The \(noun) is not the expected one. Key, nonce or content is another; measure again."
    case .unauthenticated(let verdict):
      "The answer \"\(verdict)\" has no receipt: anyone on the link could have made it. Treat it "
        + "as a hint."
    case .answerToAnother(let expected, let actual):
      "The answer is to challenge \(actual), not to \(expected). Drop it and wait for the right one."
    case .answerToRecall(let verdict):
      "The answer \"\(verdict)\" is to the recall of this command. Read it with the recall."

    case .storageFailed:
      "The storage did not answer. Nothing was changed; try again after a restart."
    case .storageDamaged:
      "A stored record has no intact copy. Provision the hardware again, with a floor of today."
    case .randomFailed:
      "The generator of random numbers failed or repeated itself. The hardware needs service."

    case .logTooFar(let steps):
      "The part of the log ends more than \(steps) entries after those that were read, or begins "
        + "before the first entry to read. Read it again with a higher bound, or from an earlier entry."
    }
  }

  private static func text(of range: ClosedRange<Int>) -> String {
    range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
  }
}
