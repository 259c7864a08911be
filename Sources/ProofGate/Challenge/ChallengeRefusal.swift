// SPDX-License-Identifier: Apache-2.0

public import ProofBackend

/// The reason why an answer to a challenge does not count. For the log; a client gets another challenge.
public enum ChallengeRefusal: Error, Sendable, Hashable {
  /// The id is not 80 characters of base64url.
  case text
  /// The id has a version that this build does not know.
  case version
  /// The id is another kind of text.
  case kind
  /// The id was made with an own secret that the gate does not hold.
  case key
  /// The tag is not that of the id.
  case tag
  /// The answer comes too late.
  case expired
  /// The id ends later than the gate sets any: a clock was set back.
  case ahead
  /// The id was set before this process began, and its store does not know which were answered.
  case earlier
  /// The challenge was set for another request or client.
  case subject
  /// The challenge was answered before.
  case spent
  /// The answer is of another kind than the challenge.
  case otherAnswer
  /// The answer is wrong. The challenge is used up.
  case wrong
  /// The client's gate token is not opened: the budget of openings is spent. The challenge is not used up.
  case busy
  /// The replay store did not answer.
  case store(ReplayStoreFailure)
}

extension ChallengeRefusal: CustomStringConvertible {
  /// One sentence for a log.
  public var description: String {
    switch self {
    case .text: "The challenge id is not \(GateChallenge.characterCount) characters of base64url."
    case .version: "The challenge id has a version that this gate does not know."
    case .kind: "The challenge id is another kind of text."
    case .key: "The gate holds no own secret of the number in the challenge id."
    case .tag: "The tag of the challenge id does not verify."
    case .expired: "The challenge has expired."
    case .ahead:
      "The challenge ends later than this gate sets any. Compare the clocks of the nodes."
    case .earlier: "The challenge was set before this gate's process began."
    case .subject: "The challenge was set for another request or client."
    case .spent: "The challenge was answered before."
    case .otherAnswer: "The answer is of another kind than the challenge."
    case .wrong: "The answer is wrong."
    case .busy: RejectedRequest.busy.description
    case .store(let failure): failure.description
    }
  }
}
