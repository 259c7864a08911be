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
    demandsSealing: true, permitsChannel: true)
  try expect(later.demandsSealing && !first.demandsSealing)
  try expect(later.permitsChannel && !first.permitsChannel)
  let token = try later.sealed(to: baseline.hardware.identity, signedBy: baseline.issuer)
  try verifier.prepareSealedCommands()
  verifier.keepChannels()
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

  guard let channel: CommandChannel = proved.channel(from: outcome.reply) else {
    throw Unexpected(description: "no channel")
  }
  try expect(channel.counter == proved.counter + 1 && channel.kind == .integrity)
  try expect(channel.instance == baseline.instance && channel.token == token.digest)
  let further = try ProvedCommand(Command([8], class: 1), in: channel)
  try expect(further.message.type == .channelCommand && further.isSealed)
  let answer = verifier.receive(further.message, in: &session)
  try expect(answer.execution?.command.bytes == [8])
  try expect(try further.receipt(from: answer.reply).verdict == .accepted)
  try expect(further.channel(from: answer.reply)?.counter == channel.counter + 1)
  session.disconnect()
}
