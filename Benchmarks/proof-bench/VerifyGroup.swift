// SPDX-License-Identifier: Apache-2.0

import ProofBench
import ProofModel

/// The hardware's side of a conversation. What the app does in between is not timed.
func verifyGroup(_ sample: Sample) throws -> Group {
  let secrets = sample.secrets
  let hint = Array(sample.hardware.identity.id.bytes.prefix(4))
  let noise = [UInt8](repeating: 0xA5, count: 288)
  let addressed = try MeasurementToken([0x50, 0x54, 1, 1] + hint + noise.dropFirst(8)).message
  let firstContact = Conversation(sample, try sample.verifier())
  let repeated = Conversation(sample, try sample.verifier())
  let refusing = Conversation(sample, try sample.verifier())
  _ = try repeated.present(sample.token())
  return Group(
    name: "verify",
    candidates: [
      Candidate(name: "first-contact", count: 2) { count in
        var total = Duration.zero
        for _ in 0..<count {
          total += try firstContact.present(firstContact.nextToken())
          total += try firstContact.command(secrets)
        }
        return total
      },
      Candidate(name: "repeat", count: 20) { count in
        var total = Duration.zero
        for _ in 0..<count { total += try repeated.command(secrets) }
        return total
      },
      // A token for other hardware, or noise: told from its first bytes.
      Candidate(name: "garbage", count: 100) { count in
        try refusing.refuse(type: 3, noise, .malformed, count)
      },
      // Noise behind a header that is right costs one X25519, four times on a link.
      Candidate(name: "garbage.addressed", count: 4) { count in
        refusing.reconnect()
        return try refusing.refuse(type: 3, addressed.bytes, .notForMe, count)
      },
    ],
    ratios: [("first-contact", "repeat"), ("garbage", "repeat"), ("garbage.addressed", "repeat")])
}

/// One link to one verifier.
final class Conversation {
  private let sample: Sample
  private let verifier: Verifier
  private var session = VerifierSession()
  private var generation: UInt32 = 0

  init(_ sample: Sample, _ verifier: Verifier) {
    self.sample = sample
    self.verifier = verifier
  }

  func nextToken() throws -> MeasurementToken {
    generation += 1
    return try sample.token(generation: generation)
  }

  func reconnect() { session.disconnect() }

  func challenge() -> Message { verifier.receive(.askForChallenge, in: &session).reply }

  func judge(_ message: Message) -> Verdict? { verifier.receive(message, in: &session).verdict }

  /// How long the hardware takes to hold a token.
  func present(_ token: MeasurementToken) throws -> Duration {
    let message = token.message
    let start = ContinuousClock.now
    let outcome = verifier.receive(message, in: &session)
    let duration = ContinuousClock.now - start
    precondition(outcome.verdict == .held, "the token was refused: \(outcome.verdict!)")
    return duration
  }

  /// How long the hardware takes for a challenge and a command.
  func command(_ secrets: HardwareSecrets) throws -> Duration {
    let asked = ContinuousClock.now
    let challenge = verifier.receive(.askForChallenge, in: &session)
    let challenged = ContinuousClock.now
    let proved = try sample.proved(answering: challenge.reply, secrets)
    let sent = ContinuousClock.now
    let outcome = verifier.receive(proved.message, in: &session)
    let judged = ContinuousClock.now
    precondition(outcome.verdict == .accepted, "the command was refused: \(outcome.verdict!)")
    return (challenged - asked) + (judged - sent)
  }

  /// How long the hardware takes to refuse something, several times.
  func refuse(
    type: UInt8, _ bytes: [UInt8], _ verdict: Verdict, _ count: Int
  ) throws -> Duration {
    let start = ContinuousClock.now
    for _ in 0..<count {
      let outcome = verifier.receive(type: type, bytes, in: &session)
      precondition(outcome.verdict == verdict, "another verdict: \(outcome.verdict!)")
    }
    return ContinuousClock.now - start
  }
}
