// SPDX-License-Identifier: Apache-2.0

/// The cause of a hardware's refusal within its ``Verdict``: the detail of an ``Answer``.
///
/// ``code`` names both numbers, such as `LOCK-18.2`. docs/REASONS.md lists them, and `proofctl explain LOCK-18.2`
/// prints one. The hardware tells nothing that helps a stranger: no detail says which key, measurement or
/// issuer was wrong. New cases may come in a minor version: a `switch` needs a `default`.
public enum RefusalDetail: Sendable, Hashable {
  /// Integrity differs: so many attempts are left.
  case attemptsLeft(UInt16)
  /// Stale: the link has no live challenge.
  case noChallenge
  /// Stale: the link's live challenge is another one.
  case otherChallenge
  /// Stale: the challenge was too old.
  case challengeTimedOut
  /// Stale: a recall, or a later command of this app, ended the challenge.
  case challengeEnded
  /// Stale: the key that came with the challenge for a sealed command was used or replaced, or none came.
  case sealReplaced
  /// Stale: the link has no channel, or the channel waits for another command.
  case noChannel
  /// Not permitted: the token permits the class for no match.
  case classNotPermitted
  /// Not permitted: the token permits the class for an integrity match only.
  case integrityDemanded
  /// Not permitted: the token permits sealed commands only.
  case sealedDemanded
  /// Not permitted: the loan is used up, ended or taken back, or the grant is older than one that was taken.
  case grantSpent
  /// Not permitted: the owner who lent the class could not send such a command now.
  case ownerCannot
  /// Not permitted: the owner's token does not let it lend all classes of the grant.
  case notDelegable
  /// Unknown: no slot holds the token that the grant names.
  case noMember
  /// Expired: so many days have begun since the end of the token or the grant.
  case daysPast(UInt16)
  /// Expired: the token or order was issued too far beyond the hardware's time.
  case ahead
  /// Superseded: a floor was raised above the token.
  case belowFloor
  /// Superseded: the hardware has seen this generation, or a newer one.
  case olderGeneration
  /// Wrong mode: the token is of the other mode.
  case otherMode
  /// Wrong mode: the hardware does not take the literal form.
  case literalForm
  /// Wrong mode: the hardware has a factory secret, and the token was sealed without it.
  case suite
  /// No room: all of so many slots are in use.
  case slots(UInt16)
  /// Too new: the version.
  case laterVersion
  /// Too new: the suite.
  case laterSuite
  /// Too new: a reserved bit.
  case reservedBit
  /// Too new: the kind of message.
  case unknownKind
  /// Busy: so many seconds to wait.
  case seconds(UInt16)
  /// Fault: a record could not be stored, or the hardware's two reviews differ.
  case notStored
  /// Fault: the generator of random numbers failed.
  case notDrawn
  /// Fault: the hardware did not start.
  case notStarted
}

extension RefusalDetail {
  /// `LOCK-`, the number of the verdict, a dot, and the number of the detail.
  public var code: String { "LOCK-\(numbers.verdict).\(numbers.detail)" }
}

extension RefusalDetail: CustomStringConvertible {
  /// The detail's code.
  public var description: String { code }
}

extension Answer {
  /// The cause of a refusal within its verdict; nil where the hardware told none, or none that this build knows.
  public var refusal: RefusalDetail? { RefusalDetail(of: verdict, number: detail) }
}

extension Receipt {
  /// The cause of a refusal within its verdict; nil where the hardware told none, or none that this build knows.
  public var refusal: RefusalDetail? { RefusalDetail(of: verdict, number: detail) }
}
