// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofLink
import ProofModel
import RealProcess
import Testing

/// An app seals its commands for the hardware's own process, over its socket.
@Suite("Sealed commands to the hardware's process", .serialized)
struct SealedProcessTests {
  private static let open = Command("open", class: 1)
  /// Only a hang lasts as long.
  private static let ample = Duration.seconds(60)
  private let issuer = IssuerKey.random()
  private let instance = try! InstanceID([UInt8](repeating: 3, count: 16))

  private func secrets() throws -> HardwareSecrets {
    try HardwareSecrets(
      integrityKey: SecretBytes(copying: [UInt8](repeating: 1, count: 16).span),
      integrity: SecretBytes(copying: [UInt8](repeating: 1, count: 32).span),
      deviceKey: SecretBytes(copying: [UInt8](repeating: 2, count: 16).span),
      device: SecretBytes(copying: [UInt8](repeating: 2, count: 32).span), form: .diversified)
  }

  private func door(
    at hardware: RealHardware, mtu: Int = 185, seals: Bool = true, demandsSealing: Bool = true,
    permitsChannel: Bool = false, keepsChannel: Bool = true, generation: UInt32 = 1,
    tap: Tap = Tap()
  ) throws -> HardwareConnection {
    let token = try MeasurementGrant(
      for: hardware.identity.id, instance: instance, mode: .production, integrityClasses: .all,
      attempts: 3, uses: .limited(100), generation: generation, issued: 1_800_000_000,
      secrets: secrets(), version: .two, demandsSealing: demandsSealing,
      permitsChannel: permitsChannel
    ).sealed(to: hardware.identity, signedBy: issuer)
    return HardwareConnection(
      to: try Bench.pair(token, at: hardware.identity.id, of: instance),
      proving: BenchProver(secrets: try secrets()),
      over: TappedTransport(PipeTransport(.socket(hardware.path("socket"))), tap),
      memory: HeardMemory(),
      options: .init(mtu: mtu, sealsCommands: seals, keepsChannel: keepsChannel))
  }

  private func powerOn(
    _ hardware: RealHardware, seals: Bool, channels: Bool = false
  ) async throws -> RealProcess {
    try await hardware.powerOn(
      [
        "--socket", hardware.path("socket"), "--seal", seals ? "yes" : "no",
        "--channel", channels ? "yes" : "no",
      ])
  }

  @Test("twenty commands are done, one after the other", arguments: [185, 23])
  func done(mtu: Int) async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await powerOn(hardware, seals: true)
    let tap = Tap()
    let door = try door(at: hardware, mtu: mtu, tap: tap)
    for left in (80..<100).reversed() {
      let receipt = try await door.send(Self.open, within: Self.ample)
      #expect(receipt.verdict == .accepted && receipt.usesLeft == UInt16(left))
    }
    let reply = try #require(try await door.reply(within: Self.ample))
    #expect(reply.isOpen && reply.doneCount == 20)
    #expect(Set(Tap.commandKinds(tap.toHardware)) == [5])
    #expect(!(tap.toHardware + tap.toApp).contains { Tap.contains($0, instance.bytes) })
    await process.end()
  }

  /// The hardware demands that this app seals its commands, and says so under its key.
  private func expectDemand(of clear: HardwareConnection) async {
    let error = await #expect(throws: LinkError.self) {
      _ = try await clear.send(Self.open, within: Self.ample)
    }
    #expect(error?.code == "LOCK-19.3" && error?.isAuthenticated == true)
    await clear.disconnect()
  }

  @Test("the process refuses in the clear what is to be sealed")
  func demanded() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await powerOn(hardware, seals: true)
    let clear = try door(at: hardware, seals: false)
    await expectDemand(of: clear)
    await process.end()
  }

  @Test("a process that seals nothing gets no command, and takes no token that demands it")
  func missing() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await powerOn(hardware, seals: false)
    let tap = Tap()
    let door = try door(at: hardware, tap: tap)
    let error = await #expect(throws: LinkError.self) {
      _ = try await door.send(Self.open, within: Self.ample)
    }
    #expect(error?.code == "LOCK-39.3")
    #expect(Tap.commandKinds(tap.toHardware).isEmpty)
    await process.end()
  }

  /// The types of the messages, by the head of each first fragment.
  private static func types(_ pdus: [[UInt8]]) -> [UInt8] {
    pdus.filter { [0x52, 0x1B].contains($0[0]) && $0.count > 3 && $0[3] & 0x80 != 0 }
      .map { $0[3] & 15 }
  }

  @Test("further commands go in channels of sixteen, and none but their lengths is to be heard")
  func channel() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await powerOn(hardware, seals: true, channels: true)
    var shapes: [[Tap.Shape]] = []
    for (generation, text) in zip(1..., ["autolock 12345", "autolock 54321"]) {
      let tap = Tap()
      let door = try door(
        at: hardware, permitsChannel: true, generation: UInt32(generation), tap: tap)
      for left in (82..<100).reversed() {
        let receipt = try await door.send(
          Command(Array(text.utf8), class: 2), within: Self.ample)
        #expect(receipt.verdict == .accepted && receipt.usesLeft == UInt16(left))
      }
      await door.disconnect()
      #expect(
        Self.types(tap.toHardware) == [3, 4] + [UInt8](repeating: 9, count: 16) + [4])
      #expect(Self.types(tap.toApp) == [5] + [UInt8](repeating: 10, count: 18))
      let ups = tap.toHardware.filter { Self.types([$0]) == [9] }
      #expect(Set(ups.map(\.count)).count == 1 && Set(ups).count == 16)
      let heard = tap.toHardware + tap.toApp
      for hidden in [Array(text.utf8), instance.bytes] {
        #expect(!heard.contains { Tap.contains($0, hidden.prefix(6)) })
      }
      shapes.append(tap.shapes)
    }
    #expect(shapes[0] == shapes[1])
    await process.end()
  }

  @Test("a client without channels is served, and one without sealing as its token says")
  func olderClients() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await powerOn(hardware, seals: true, channels: true)
    for (generation, seals) in [(UInt32(1), true), (2, false)] {
      let tap = Tap()
      let door = try door(
        at: hardware, seals: seals, demandsSealing: false, permitsChannel: true,
        keepsChannel: false, generation: generation, tap: tap)
      for _ in 0..<3 {
        #expect(try await door.send(Self.open, within: Self.ample).verdict == .accepted)
      }
      #expect(Self.types(tap.toHardware) == [3, 4, 4, 4])
      await door.disconnect()
    }
    let clear = try door(at: hardware, seals: false, permitsChannel: true, generation: 3)
    await expectDemand(of: clear)
    await process.end()
  }

  @Test("hardware that opens no channels serves an app that would keep one")
  func noChannels() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await powerOn(hardware, seals: true)
    let tap = Tap()
    let door = try door(at: hardware, permitsChannel: true, tap: tap)
    for _ in 0..<3 {
      #expect(try await door.send(Self.open, within: Self.ample).verdict == .accepted)
    }
    #expect(Self.types(tap.toHardware) == [3, 4, 4, 4])
    await process.end()
  }
}
