// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofLink
import ProofModel

/// An owner and a member of the hardware on the bench, each with a token and a way of its own.
struct LoanStage {
  static let lent = CommandClasses(1)
  static let open = Command("open", class: 1)
  static let ring = Command("status", class: 0)
  static let end: UnixTime = 1_800_000_000
  static let now: UnixTime = 1_750_000_000

  /// One app. Its secrets follow from its number, or from another one.
  struct App {
    let secrets: HardwareSecrets
    let pair: PairedHardware
    let door: HardwareConnection
  }

  let bench: Bench
  let owner: App
  let member: App

  /// Makes both apps. `takes`: whether the hardware takes delegations. Clock and fates are the
  /// member's, and what is remembered the owner's.
  init(
    seed: UInt64 = 70, mtu: Int = 185, takes: Bool = true, ownerUses: Uses = .limited(100),
    clock: StillClock = StillClock(),
    remember: @escaping @Sendable (LinkMemory) throws -> Void = { _ in },
    decide: @escaping @Sendable (Int) -> BenchTransport.Fate = { _ in .carry }
  ) throws {
    bench = try Bench(seed: seed)
    if takes { bench.lend() }
    owner = try Self.app(
      bench, 20, [0, 1, 2], lends: [1, 2], uses: ownerUses, mtu: mtu, remember: remember)
    member = try Self.app(bench, 40, [0], mtu: mtu, clock: clock, decide: decide)
  }

  static func secrets(_ number: UInt8) throws -> HardwareSecrets {
    func bytes(_ step: UInt8, _ count: Int) -> SecretBytes {
      SecretBytes(copying: [UInt8](repeating: number + step, count: count).span)
    }
    return try HardwareSecrets(
      integrityKey: bytes(1, 16), integrity: bytes(2, 32), deviceKey: bytes(3, 16),
      device: bytes(4, 32), form: .diversified)
  }

  static func app(
    _ bench: Bench, _ number: UInt8, _ classes: [UInt8], lends: [UInt8] = [],
    uses: Uses = .limited(100), generation: UInt32 = 1, secretsOf other: UInt8? = nil,
    mtu: Int = 185, memory: LinkMemory = LinkMemory(),
    clock: StillClock = StillClock(),
    remember: @escaping @Sendable (LinkMemory) throws -> Void = { _ in },
    decide: @escaping @Sendable (Int) -> BenchTransport.Fate = { _ in .carry }
  ) throws -> App {
    let secrets = try secrets(other ?? number)
    let instance = try InstanceID([UInt8](repeating: number, count: 16))
    let token = try MeasurementGrant(
      for: bench.identity.id, instance: instance, mode: .production,
      integrityClasses: set(classes), attempts: 3, uses: uses, generation: generation,
      issued: 1_700_000_000, secrets: secrets, version: .two, delegableClasses: set(lends)
    ).sealed(to: bench.identity, signedBy: bench.issuer)
    let pair = try Bench.pair(
      token, at: bench.identity.id, of: instance, generation: generation)
    let door = HardwareConnection(
      to: pair, proving: BenchProver(secrets: secrets),
      over: BenchTransport(bench, decide: decide), memory: HeardMemory(memory, remember),
      clock: clock, options: .init(mtu: mtu, patience: Stage.patience))
    return App(secrets: secrets, pair: pair, door: door)
  }

  private static func set(_ classes: [UInt8]) -> CommandClasses {
    CommandClasses(rawValue: classes.reduce(0) { $0 | 1 << UInt16($1) })
  }

  /// Both apps' tokens are held, and no link is up.
  func introduce() async throws {
    try await owner.door.present()
    await owner.door.disconnect()
    try await member.door.present()
    await member.door.disconnect()
  }

  /// The owner lends, without a link.
  func lend(
    _ classes: CommandClasses = lent, uses: UInt16 = 3, until end: UnixTime = end,
    at now: UnixTime = now
  ) async throws -> Delegation {
    let name = await member.door.memberName()
    return try await owner.door.lend(classes, to: name, uses: uses, until: end, at: now)
  }

  /// The error of a call of the member.
  func refusal(
    _ body: () async throws -> Void
  ) async -> LinkError? {
    do {
      try await body()
      return nil
    } catch { return error as? LinkError }
  }
}
