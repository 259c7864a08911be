// SPDX-License-Identifier: Apache-2.0

internal import HardwareBench
package import LinkSimulation
package import ProofKit
package import ProofLink
package import ProofModel

/// The real hardware side, in this process, behind the model's door, and an owner of it. Only one
/// exists: users take turns, and a new instance takes it over. Links of an earlier user that are
/// still to end have no effect any more.
package struct Bench: LinkPeripheral {
  /// Number of the latest instance; locked while an instance acts.
  private static let turn = CoreLock(0)
  private let turn: Int
  package let issuer: IssuerKey
  package let identity: HardwareIdentity
  package let instance: InstanceID
  package let secrets: HardwareSecrets

  package init(seed: UInt64) throws {
    issuer = try IssuerKey(seed: SecretBytes(copying: [UInt8](repeating: 9, count: 32).span))
    let keys = try HardwareKeys(
      id: HardwareID([UInt8](repeating: 5, count: 16)),
      secretKey: SecretBytes(copying: [UInt8](repeating: 6, count: 32).span), mode: .production,
      issuers: [issuer.publicKey])
    identity = keys.identity
    instance = try InstanceID([UInt8](repeating: 7, count: 16))
    secrets = try HardwareSecrets(
      integrityKey: SecretBytes(copying: [UInt8](repeating: 1, count: 16).span),
      integrity: SecretBytes(copying: [UInt8](repeating: 2, count: 32).span),
      deviceKey: SecretBytes(copying: [UInt8](repeating: 3, count: 16).span),
      device: SecretBytes(copying: [UInt8](repeating: 4, count: 32).span), form: .diversified)
    let issuer = issuer.publicKey.bytes
    turn = Self.turn.withLock {
      let made = unsafe issuer.withUnsafeBufferPointer {
        unsafe hardware_bench_make(5, 6, $0.baseAddress, seed)
      }
      precondition(made == 0, "the hardware is provisioned and starts")
      $0 += 1
      return $0
    }
  }

  package var done: Int { Int(mine { hardware_bench_done() } ?? 0) }

  /// From now on the hardware answers sealed commands.
  package func seal() {
    let sealed = mine { hardware_bench_seal() }
    precondition(sealed == 0, "the hardware makes a key")
  }

  /// From now on the hardware opens channels behind sealed commands.
  package func keepChannels() {
    let kept = mine { hardware_bench_keep_channels() }
    precondition(kept == 0, "the hardware has started")
  }

  /// From now on the hardware takes delegations. It starts again.
  package func lend() {
    let started = mine { hardware_bench_lend() }
    precondition(started == 0, "the hardware starts again")
  }

  package func connect() { mine { hardware_bench_connect() } }
  package func disconnect() { mine { hardware_bench_disconnect() } }
  package func losePower() {
    let started = mine { hardware_bench_restart() }
    precondition(started == 0, "the hardware starts again")
  }

  package func receive(_ pdu: [UInt8]) -> [[UInt8]]? {
    mine { exchange(pdu) } ?? nil
  }

  /// Nil if it is another's by now.
  @discardableResult
  private func mine<Result>(_ act: () -> Result) -> Result? {
    Self.turn.withLock { $0 == turn ? act() : nil }
  }

  private func exchange(_ pdu: [UInt8]) -> [[UInt8]]? {
    let closes = unsafe pdu.withUnsafeBufferPointer {
      unsafe hardware_bench_receive($0.baseAddress, $0.count)
    }
    if closes != 0 { return nil }
    var sent: [[UInt8]] = []
    var buffer = [UInt8](repeating: 0, count: HARDWARE_BENCH_PDU_MAX)
    while true {
      let size = unsafe buffer.withUnsafeMutableBufferPointer {
        unsafe hardware_bench_take($0.baseAddress)
      }
      if size == 0 { return sent }
      sent.append(Array(buffer.prefix(size)))
    }
  }

  package func token(
    uses: Uses = .unlimited, generation: UInt32 = 1, attempts: UInt16 = 3,
    ratchet: RatchetPolicy? = nil, demandsSealing: Bool = false, permitsChannel: Bool = false
  ) throws -> MeasurementToken {
    try MeasurementGrant(
      for: identity.id, instance: instance, mode: .production, integrityClasses: .all,
      deviceClasses: ratchet == nil ? [] : CommandClasses(0), attempts: attempts,
      uses: uses, generation: generation, issued: 1_700_000_000,
      secrets: secrets, version: ratchet == nil && !demandsSealing && !permitsChannel ? .one : .two,
      ratchet: ratchet, demandsSealing: demandsSealing, permitsChannel: permitsChannel
    ).sealed(to: identity, signedBy: issuer)
  }

  /// The pair of this token, with a configuration that the bench's prover does not read.
  package func pair(_ token: MeasurementToken) throws -> PairedHardware {
    try Self.pair(token, at: identity.id, of: instance)
  }

  /// A pair of any hardware and instance.
  package static func pair(
    _ token: MeasurementToken, at hardware: HardwareID, of instance: InstanceID,
    generation: UInt32 = 1
  ) throws -> PairedHardware {
    let sources = try [
      Source(SourceID(.device, 1), version: 1, groupsLog2: 0),
      Source(SourceID(.app, 2), version: 1, groupsLog2: 0),
    ]
    let draft = try BaselineDraft(
      salt: Salt([UInt8](repeating: 8, count: 16)), sources: sources, generation: generation)
    let evidence = try EvidenceSet(
      sources.map { try EvidenceRecord($0.id, name: Array("name".utf8), digest: nil) })
    let config = try MeasurementConfig(baseline: evidence, draft, with: .sdk)
    return PairedHardware(try StoredToken(token, for: hardware), of: instance, under: config)
  }

  /// The request of an app for one command.
  package func request(
    _ token: MeasurementToken, isHeld: Bool, mtu: Int = 185, table: AttributeTable? = nil
  ) -> LinkRequest {
    LinkRequest(
      .command(after: nil), token: token, isHeld: isHeld, mtu: mtu, table: table)
  }

  /// The app that holds this token.
  package func app(_ token: MeasurementToken) throws -> LinkApp {
    let command = Command("status", class: 0)
    let secrets = secrets
    let instance = instance
    let hardware = identity.id
    return LinkApp(
      prove: { challenge throws(LinkError) in
        ProvedCommand(
          command, proving: .integrity, from: instance, to: hardware, answering: challenge,
          with: secrets)
      },
      receipt: { answer throws(ProofError) in try token.receipt(of: answer, with: secrets) })
  }
}
