// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// A gate whose keys are open: what admissions are made with.
struct OpenGate: Sendable {
  let gate: Gate
  /// Gate tokens are sealed to it now.
  let recipient: GatePublicKey
  /// Signs gate tokens now.
  let issuer: IssuerKey
  /// Hides the names of users now.
  let accountKey: GateAccountKey
  /// The hosts of its APIs.
  let hosts: [String]
  /// Its events, as apps know them.
  let events: [GateAdmission.Events]

  init(
    _ gate: Gate, with vault: Vault, apis: some Sequence<API>, events: EventRanges
  ) throws(ServiceError) {
    self.gate = gate
    guard let key = gate.keys[.key]?.active, let account = gate.keys[.account]?.active,
      let issuer = gate.keys[.issuer]?.active
    else { throw .damaged("gate “\(gate.name)”") }
    recipient = try gate.publicKey(key, with: vault)
    accountKey = try gate.accountKey(account, with: vault)
    self.issuer = try gate.issuer(issuer, with: vault)
    hosts = apis.filter { $0.gate == gate.name }.map(\.host)
    self.events = events.all.filter { $0.gate == gate.name }.map { range in
      GateAdmission.Events(
        range.numbers, for: EventRange.id(of: range.audience, at: gate.id),
        life: UInt32(range.life))
    }
  }
}

extension Gate {
  func publicKey(_ key: SealedKey, with vault: Vault) throws(ServiceError) -> GatePublicKey {
    let bytes = try vault.open(key.sealed, for: place(of: .key)).withBytes { Array(copying: $0) }
    guard let number = UInt8(key.id), let key = try? GatePublicKey(bytes, number: number) else {
      throw .damaged("key of the gate “\(name)”")
    }
    return key
  }

  func accountKey(_ key: SealedKey, with vault: Vault) throws(ServiceError) -> GateAccountKey {
    let secret = try vault.open(key.sealed, for: place(of: .account))
    let opened = secret.withBytes { bytes in
      UInt8(key.id).flatMap { number in
        try? GateAccountKey(SecretBytes(copying: bytes), number: number)
      }
    }
    guard let opened else { throw .damaged("account key of the gate “\(name)”") }
    return opened
  }

  func issuer(_ key: SealedKey, with vault: Vault) throws(ServiceError) -> IssuerKey {
    let seed = try vault.open(key.sealed, for: place(of: .issuer))
    let opened = seed.withBytes { try? IssuerKey(seed: SecretBytes(copying: $0)) }
    guard let opened, opened.id.description == key.id else {
      throw .damaged("issuer of the gate “\(name)”")
    }
    return opened
  }
}
