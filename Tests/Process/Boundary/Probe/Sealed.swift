// SPDX-License-Identifier: Apache-2.0

import ProofModel

func probeSealed(_ baseline: BaselineProbe) throws {
  let platform = LeastPlatform()
  try Verifier.provision(baseline.hardware, on: platform, floor: 1, counter: 2)
  let verifier = try Verifier(baseline.hardware, on: platform)
  var session = VerifierSession()
  let first = try grant(baseline)
  let later = try MeasurementGrant(
    for: first.hardware, instance: first.instance, mode: first.mode,
    integrityClasses: first.integrityClasses, attempts: first.attempts, uses: first.uses,
    generation: first.generation, issued: first.issued, secrets: first.secrets, version: .two,
    demandsSealing: true)
  try expect(later.demandsSealing && !first.demandsSealing)
  let token = try later.sealed(to: baseline.hardware.identity, signedBy: baseline.issuer)
  try verifier.prepareSealedCommands()
  try expect(verifier.receive(token.message, in: &session).verdict == .held)

  let asked = verifier.receive(.askForSealedChallenge, in: &session).reply
  let challenge = try SealedChallenge(asked)
  try expect(asked.bytes.count == SealedChallenge.byteCount)
  try expect(try SealedChallenge(asked) == challenge && Set([challenge]).count == 1)
  let proved = try ProvedCommand(
    Command([9], class: 1), proving: .integrity, from: baseline.instance,
    to: baseline.hardware.identity.id, answering: challenge, of: token.digest,
    with: first.secrets)
  try expect(proved.isSealed && proved.counter == challenge.challenge.counter)
  let outcome = verifier.receive(proved.message, in: &session)
  try expect(outcome.execution?.command.bytes == [9] && outcome.reply.type == .sealedAnswer)
  try expect(try proved.receipt(from: outcome.reply).verdict == .accepted)
  session.disconnect()
}
