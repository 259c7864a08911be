// SPDX-License-Identifier: Apache-2.0

import ProofModel

@testable import ProofLink

/// An app and hardware that know of each other, for exchanges whose link is the test.
struct LinkPair {
  /// The handles of its hardware.
  static let table = AttributeTable(
    values: [
      .token: 3, .challenge: 5, .command: 8, .verdict: 10, .status: 13, .order: 15, .recall: 17,
      .reply: 19,
    ], verdictDescriptor: 11)

  let issuer = IssuerKey.random()
  let instance = InstanceID.random()
  let secrets: HardwareSecrets
  let other: HardwareSecrets
  let identity: HardwareIdentity
  let token: MeasurementToken

  init() throws {
    let keys = try HardwareKeys(
      id: .random(), secretKey: .random(count: 32), mode: .production,
      issuers: [issuer.publicKey])
    identity = keys.identity
    secrets = try Self.secrets()
    other = try Self.secrets()
    token = try MeasurementGrant(
      for: identity.id, instance: instance, mode: .production, integrityClasses: .all,
      attempts: 3, uses: .unlimited, generation: 1, issued: 1_700_000_000, secrets: secrets
    ).sealed(to: identity, signedBy: issuer)
  }

  private static func secrets() throws -> HardwareSecrets {
    try HardwareSecrets(
      integrityKey: .random(count: 16), integrity: .random(count: 32),
      deviceKey: .random(count: 16), device: .random(count: 32), form: .diversified)
  }

  func proved(_ counter: UInt64 = 7) throws -> ProvedCommand {
    ProvedCommand(
      Command("open", class: 0), proving: .integrity, from: instance, to: identity.id,
      answering: try Challenge(counter: counter, bytes: [UInt8](repeating: 3, count: 32)),
      with: secrets)
  }

  /// A delegation of one class to the app itself.
  func delegation() throws -> Delegation {
    Delegation(
      try Delegation.Loan(
        of: CommandClasses(rawValue: 1), to: token.digest, uses: 3, until: 1_900_000_000, serial: 1
      ),
      from: try Delegation.Lender(instance, at: identity.id, generation: 1, token: token.digest),
      with: secrets)
  }

  /// The PDUs of these actions.
  static func sent(_ actions: [LinkExchange.Action]) -> [[UInt8]] {
    actions.compactMap { if case .send(let pdu) = $0 { pdu } else { nil } }
  }
}
