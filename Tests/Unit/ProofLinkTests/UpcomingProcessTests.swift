// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofLink
import ProofModel
import RealProcess
import Testing

/// An app that is updated while it is offline, at the hardware's own process.
@Suite("An update at the hardware's process", .serialized)
struct UpcomingProcessTests {
  private static let open = try! Command(Array("open".utf8), class: CommandClass(1))
  /// Only a hang lasts as long.
  private static let ample = Duration.seconds(60)
  private let issuer = IssuerKey.random()
  private let instance = try! InstanceID([UInt8](repeating: 7, count: 16))

  /// The secrets of one measurement.
  private func secrets(_ byte: UInt8) throws -> HardwareSecrets {
    try HardwareSecrets(
      integrityKey: SecretBytes(copying: [UInt8](repeating: byte, count: 16).span),
      integrity: SecretBytes(copying: [UInt8](repeating: byte, count: 32).span),
      deviceKey: SecretBytes(copying: [UInt8](repeating: byte, count: 16).span),
      device: SecretBytes(copying: [UInt8](repeating: byte, count: 32).span), form: .diversified)
  }

  private func pair(
    _ generation: UInt32, of byte: UInt8, at hardware: RealHardware, isUpcoming: Bool
  ) throws -> PairedHardware {
    let grant = try MeasurementGrant(
      for: hardware.identity.id, instance: instance, mode: .production, integrityClasses: .all,
      attempts: 3, uses: .limited(100), generation: generation, issued: 1_800_000_000,
      secrets: secrets(byte), version: .two, base: 1, isUpcoming: isUpcoming)
    return try Bench.pair(
      grant.sealed(to: hardware.identity, signedBy: issuer), at: hardware.identity.id, of: instance)
  }

  private func door(
    _ pair: PairedHardware, _ byte: UInt8, at hardware: RealHardware,
    memory: HeardMemory = HeardMemory(), before: PairedHardware? = nil, _ older: UInt8 = 1
  ) throws -> HardwareConnection {
    let chosen: ConnectionKeeper.Pair = (pair, BenchProver(secrets: try secrets(byte)))
    let present = try before.map { ($0, BenchProver(secrets: try secrets(older))) }
    let isAccepted = CoreLock(false)
    let keeper = ConnectionKeeper(
      fitting: { (chosen, isAccepted.withLock { $0 } ? nil : present) },
      accepted: { _ in isAccepted.withLock { $0 = true } }, noteCopy: {},
      hasReportedCopy: { false })
    return HardwareConnection(
      to: pair, proving: chosen.prover, over: PipeTransport(.socket(hardware.path("socket"))),
      memory: memory, keeping: keeper)
  }

  @Test("the updated app opens offline at its first try, and the older one is refused from then on")
  func update() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let present = try pair(1, of: 1, at: hardware, isUpcoming: false)
    let coming = try pair(2, of: 2, at: hardware, isUpcoming: true)
    let old = try door(present, 1, at: hardware)
    #expect(try await old.send(Self.open, within: Self.ample).verdict == .accepted)
    await old.disconnect()
    let memory = HeardMemory()
    let updated = try door(coming, 2, at: hardware, memory: memory, before: present)
    #expect(try await updated.send(Self.open, within: Self.ample).verdict == .accepted)
    // The hardware holds the token: it is not presented again.
    #expect(try LinkMemory(#require(memory.load())).heldToken == coming.token.digest)
    #expect(try await updated.send(Self.open, within: Self.ample).verdict == .accepted)
    await updated.disconnect()
    let late = try door(present, 1, at: hardware)
    await #expect(throws: LinkError.self) {
      try await late.send(Self.open, within: Self.ample)
    }
    await late.disconnect()
    await process.end()
    let verdicts = process.lines.filter { $0.contains(": token of") }
    #expect(verdicts.filter { $0.contains("ready") }.count == 1, "\(verdicts)")
  }

  @Test("a link that is lost before the commit presents the token again")
  func again() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let present = try pair(1, of: 1, at: hardware, isUpcoming: false)
    let coming = try pair(2, of: 2, at: hardware, isUpcoming: true)
    let old = try door(present, 1, at: hardware)
    #expect(try await old.present(within: Self.ample).verdict == .held)
    await old.disconnect()
    let memory = HeardMemory()
    let updated = try door(coming, 2, at: hardware, memory: memory, before: present)
    #expect(try await updated.present(within: Self.ample).verdict == .ready)
    #expect(try LinkMemory(#require(memory.load())).heldToken == nil)
    await updated.disconnect()
    #expect(try await updated.send(Self.open, within: Self.ample).verdict == .accepted)
    await updated.disconnect()
    await process.end()
  }

  @Test("an open command that did not commit is ended under the earlier pair")
  func recall() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let present = try pair(1, of: 1, at: hardware, isUpcoming: false)
    let coming = try pair(2, of: 2, at: hardware, isUpcoming: true)
    let old = try door(present, 1, at: hardware)
    #expect(try await old.send(Self.open, within: Self.ample).verdict == .accepted)
    await old.disconnect()
    // The command of an earlier run, made under the upcoming pair: the app ended before it was sent.
    let heard = CoreLock(LinkMemory())
    let ending = try door(
      coming, 2, at: hardware,
      memory: HeardMemory { memory in
        guard memory.openCommand != nil else { return }
        heard.withLock { $0 = memory }
        throw RealProcess.Ended(description: "the app ends here")
      }, before: present)
    await #expect(throws: LinkError.self) {
      try await ending.send(Self.open, within: Self.ample)
    }
    await ending.disconnect()
    let left = heard.withLock { $0 }
    #expect(left.openCommand != nil)
    let alone = try door(coming, 2, at: hardware, memory: HeardMemory(left))
    await #expect(throws: LinkError.self) {
      try await alone.send(Self.open, within: Self.ample)
    }
    await alone.disconnect()
    let updated = try door(
      coming, 2, at: hardware, memory: HeardMemory(left), before: present)
    #expect(try await updated.send(Self.open, within: Self.ample).verdict == .accepted)
    #expect(try await !updated.hasOpenCommand())
    await updated.disconnect()
    await process.end()
    let done = process.lines.filter { $0.contains("accepted") }
    #expect(done.count == 2, "\(done)")
  }
}
