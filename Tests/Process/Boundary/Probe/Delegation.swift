// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofModel

private func lendable(_ baseline: BaselineProbe) throws -> MeasurementGrant {
  let first = try grant(baseline)
  return try MeasurementGrant(
    for: first.hardware, instance: first.instance, mode: first.mode,
    integrityClasses: first.integrityClasses, attempts: first.attempts, uses: first.uses,
    generation: first.generation, issued: first.issued, secrets: first.secrets, version: .two,
    delegableClasses: first.integrityClasses)
}

private func lender(_ rights: MeasurementGrant, _ token: TokenDigest) throws -> Delegation.Lender {
  let lender = try Delegation.Lender(
    rights.instance, at: rights.hardware, generation: rights.generation, token: token)
  try expect(lender.instance == rights.instance && lender.hardware == rights.hardware)
  try expect(lender.generation == rights.generation && lender.token == token)
  return lender
}

func probeDelegation(_ baseline: BaselineProbe) throws {
  let platform = LeastPlatform()
  try Verifier.provision(baseline.hardware, on: platform, floor: 1, counter: 2)
  let verifier = try Verifier(baseline.hardware, on: platform)
  try verifier.takeDelegations()
  var session = VerifierSession()
  let rights = try lendable(baseline)
  try expect(rights.delegableClasses == rights.integrityClasses)
  let token = try rights.sealed(to: baseline.hardware.identity, signedBy: baseline.issuer)
  try expect(verifier.receive(token.message, in: &session).verdict == .held)

  let owner = try lender(rights, token.digest)
  let loan = try Delegation.Loan(
    of: rights.delegableClasses, to: token.digest, uses: Delegation.Loan.usesMax, until: 9,
    serial: 1)
  try expect(loan.member == token.digest && loan.serial == 1 && loan.end == 9 && !loan.takesBack)
  try expect(loan.classes == rights.delegableClasses && loan.uses == Delegation.Loan.usesMax)
  let delegation = Delegation(loan, from: owner, with: rights.secrets)
  try expect(delegation.bytes.count == Delegation.byteCount && delegation.loan == loan)
  try expect(try Delegation(delegation.bytes) == delegation)
  try expect(try Delegation(text: delegation.text) == delegation && Set([delegation]).count == 1)
  try expect(delegation.owner == rights.instance && delegation.generation == rights.generation)
  try expect(delegation.hints(at: rights.hardware) && delegation.message.type == .grant)
  try expect("\(delegation) \(loan)".contains("lends") && Set([loan]).count == 1)
  try expect(Set([owner]).count == 1 && delegation.nonce.bytes.count == 16)

  let back = Delegation(
    try Delegation.Loan(takingBackFrom: token.digest, serial: 2), from: owner,
    with: rights.secrets)
  let answer = try Answer(verifier.receive(back.message, in: &session).reply)
  let receipt = try back.receipt(of: answer, with: rights.secrets)
  try expect(receipt.verdict == .orderDone && receipt.usesLeft == 0 && back.loan.takesBack)
  session.disconnect()
}

func probeLending(by prover: Prover<Collector>, _ baseline: BaselineProbe) throws {
  let hardware = baseline.hardware.identity.id
  let token = try TokenDigest([UInt8](repeating: 1, count: TokenDigest.byteCount))
  let owner = try Delegation.Lender(
    baseline.instance, at: hardware, generation: 1, token: token)
  let loan = try Delegation.Loan(takingBackFrom: token, serial: 1)
  let delegation = try prover.delegate(loan, from: owner)
  let secrets = baseline.measurement.secrets(for: hardware, with: baseline.key)
  try expect(delegation == Delegation(loan, from: owner, with: secrets))
  let told = Answer(.orderDone, to: delegation.nonce, with: secrets)
  try expect(try prover.receipt(of: told, to: delegation, for: hardware).verdict == .orderDone)
}
