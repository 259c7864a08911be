// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The answer to a challenge.
public enum ChallengeAnswer: Sendable {
  /// A ticket or a gate token, which the caller has opened: the handle of the installation that it admits.
  case token(GateHandle)
  /// A proof, and the keys of the installation that the challenge was set for.
  case proof(Digest, GateKeys)
  /// The solution of 16 puzzles, in base64url.
  case work(String)
  /// The solution of birthday problems, in base64url.
  case memoryWork(String)
  /// A person's answer, which the page's rules judge.
  case person(@Sendable (GateChallenge) -> Bool)

  /// The kind of challenge that it answers.
  public var kind: ChallengeKind {
    switch self {
    case .token: .token
    case .proof: .proof
    case .work: .work
    case .memoryWork: .memoryWork
    case .person: .person
    }
  }

  func isRight(for challenge: GateChallenge, at gate: GateID, _ subject: ChallengeSubject) -> Bool {
    switch self {
    case .token(let handle):
      // A challenge for an address is one for a client that the gate does not know yet.
      if case .app(let expected) = subject.client { return handle == expected }
      return true
    case .proof(let proof, let keys):
      guard case .app(keys.handle) = subject.client else { return false }
      do throws(ProofError) {
        try keys.checkChallengeProof(
          proof, answering: challenge.bytes, at: gate, for: subject.place)
        return true
      } catch {
        return false
      }
    case .work(let text): return WorkPuzzle(challenge)?.isSolved(by: text) ?? false
    case .memoryWork(let text): return MemoryPuzzle(challenge)?.isSolved(by: text) ?? false
    case .person(let isRight): return isRight(challenge)
    }
  }
}
