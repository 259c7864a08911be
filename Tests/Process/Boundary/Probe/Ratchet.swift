// SPDX-License-Identifier: Apache-2.0

import ProofModel

func probeRatchet(_ baseline: BaselineProbe) throws {
  try expect(RatchetPolicy.allCases == [.report, .refuse] && RatchetPolicy.refuse.rawValue == 2)
  let first = try grant(baseline)
  let later = try MeasurementGrant(
    for: first.hardware, instance: first.instance, mode: first.mode,
    integrityClasses: first.integrityClasses, attempts: first.attempts, uses: first.uses,
    generation: first.generation, issued: first.issued, secrets: first.secrets, version: .two,
    ratchet: .report)
  try expect(later.ratchet == .report && first.ratchet == nil)
  let token = try later.sealed(to: baseline.hardware.identity, signedBy: baseline.issuer)

  let ratchet = Ratchet(.report, of: token.digest)
  try expect(ratchet.policy == .report && ratchet.token == token.digest)
  try expect(ratchet.description.contains("report") && ratchet.customMirror.children.count == 1)
  let challenge = try Challenge(
    counter: 5, bytes: [UInt8](repeating: 1, count: Challenge.byteCount))
  let proved = try ProvedCommand(
    Command([9], class: 1), proving: .integrity, from: baseline.instance,
    to: baseline.hardware.identity.id, answering: challenge, with: first.secrets,
    stepping: ratchet)
  guard let stepped = proved.ratchet else { return try expect(false) }
  try expect(stepped.lastAccepted == 0)
  let moved = stepped.following(.accepted, counter: proved.counter)
  try expect(moved.lastAccepted == 5 && moved != stepped)
  try expect(stepped.following(.stale, counter: proved.counter).lastAccepted == 0)
}
