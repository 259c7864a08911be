// SPDX-License-Identifier: Apache-2.0

import Foundation
import LinkBench
import ProofKit
import ProofLink
import ProofModel
import RealProcess
import Testing

/// The connection against the hardware's own process, on the real clock. Nothing here says how long
/// something takes; a hang ends at a call's deadline.
@Suite("A connection to the hardware's process", .serialized)
struct ProcessTests {
  private static let open = Command("open", class: 1)
  /// Only a hang lasts as long: the longest call took two seconds, on a machine that had work for
  /// five.
  private static let ample = Duration.seconds(60)
  private let issuer: IssuerKey

  init() throws {
    issuer = try IssuerKey(seed: SecretBytes(copying: [UInt8](repeating: 9, count: 32).span))
  }

  /// An app that the hardware's backend knows.
  private struct App {
    let pair: PairedHardware
    let prover: BenchProver

    func connection(
      over transport: any LinkTransport, mtu: Int = 185, memory: LinkMemory = LinkMemory()
    ) -> HardwareConnection {
      HardwareConnection(
        to: pair, proving: prover, over: transport, memory: HeardMemory(memory),
        options: .init(mtu: mtu))
    }
  }

  private func app(
    _ number: UInt8, at hardware: RealHardware, ratchet: RatchetPolicy? = nil
  ) throws -> App {
    let secrets = try HardwareSecrets(
      integrityKey: SecretBytes(copying: [UInt8](repeating: number, count: 16).span),
      integrity: SecretBytes(copying: [UInt8](repeating: number, count: 32).span),
      deviceKey: SecretBytes(copying: [UInt8](repeating: number + 100, count: 16).span),
      device: SecretBytes(copying: [UInt8](repeating: number + 100, count: 32).span),
      form: .diversified)
    let instance = try InstanceID([UInt8](repeating: number, count: 16))
    let token = try MeasurementGrant(
      for: hardware.identity.id, instance: instance, mode: .production, integrityClasses: .all,
      attempts: 3, uses: .limited(1000), generation: 1, issued: 1_700_000_000, secrets: secrets,
      version: ratchet == nil ? .one : .two, ratchet: ratchet
    ).sealed(to: hardware.identity, signedBy: issuer)
    return App(
      pair: try Bench.pair(token, at: hardware.identity.id, of: instance),
      prover: BenchProver(secrets: secrets))
  }

  @Test("a link that is up serves on, and a new one after a power cut, and after the app's restart")
  func socket() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    var process = try await hardware.powerOn()
    let app = try app(1, at: hardware)
    let transport = PipeTransport(.socket(hardware.path("socket")))
    let door = app.connection(over: transport)
    for _ in 0..<3 {
      #expect(try await door.send(Self.open, within: Self.ample).verdict == .accepted)
    }
    #expect(try await door.reply()?.doneCount == 3)
    await process.end(SIGKILL)
    process = try await hardware.powerOn()
    #expect(try await door.send(Self.open, within: Self.ample).verdict == .accepted)
    // Not one more than since the start: nothing was done again.
    #expect(try await door.reply()?.doneCount == 1)
    let again = app.connection(over: transport, mtu: 23, memory: await door.memory)
    await door.disconnect()
    #expect(try await again.send(Self.open, within: Self.ample).verdict == .accepted)
    #expect(try await again.reply()?.doneCount == 2)
    // The token was presented once, discovery aside.
    await process.end()
    #expect(!process.lines.contains { $0.contains("token of") })
    await #expect(throws: LinkError.self) { try await again.send(Self.open, within: .seconds(1)) }
  }

  @Test("a refusal names the message as the hardware's log does, and its cause")
  func reference() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let own = try app(1, at: hardware)
    // The same device with a changed app.
    let changed = try HardwareSecrets(
      integrityKey: SecretBytes(copying: [UInt8](repeating: 1, count: 16).span),
      integrity: SecretBytes(copying: [UInt8](repeating: 99, count: 32).span),
      deviceKey: SecretBytes(copying: [UInt8](repeating: 101, count: 16).span),
      device: SecretBytes(copying: [UInt8](repeating: 101, count: 32).span), form: .diversified)
    let door = HardwareConnection(
      to: own.pair, proving: BenchProver(secrets: changed),
      over: PipeTransport(.socket(hardware.path("socket"))), memory: HeardMemory(LinkMemory()))
    let error = await #expect(throws: LinkError.self) {
      try await door.send(Self.open, within: Self.ample)
    }
    let reference = try #require(error?.reference).description
    await process.end()
    let line = try #require(process.lines.first { $0.contains("ref=\(reference)") })
    #expect(line.contains("integrity differs (16), detail 2,"))
    #expect(error?.code == "LOCK-16.2")
    #expect(reference.hasPrefix("\(hardware.identity.id)".prefix(8)))
    #expect(!"\(hardware.identity.id)".contains(reference))
  }

  @Test("several centrals at a time get what is theirs")
  func several() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let apps = try (1...6).map { try app(UInt8($0), at: hardware) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, app) in apps.enumerated() {
        group.addTask {
          let door = app.connection(
            over: PipeTransport(.socket(hardware.path("socket"))), mtu: number % 2 == 0 ? 23 : 185)
          for _ in 0..<5 {
            let receipt = try await door.send(Self.open, within: Self.ample)
            #expect(receipt.verdict == .accepted)
          }
        }
      }
      try await group.waitForAll()
    }
    await process.end()
    let done = process.lines.filter { $0.contains("command of class 1: done") }
    #expect(done.count == 30)
  }

  @Test("a pair of FIFOs does as well, one link after the other")
  func fifos() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let (to, from) = (hardware.path("to"), hardware.path("from"))
    for path in [to, from] {
      let made = unsafe mkfifo(path, 0o600)
      #expect(made == 0)
    }
    let process = try await hardware.powerOn(["--fifo", to, from])
    let app = try app(1, at: hardware)
    let door = app.connection(over: PipeTransport(.fifos(to: to, from: from)))
    for count in 1...4 {
      #expect(try await door.send(Self.open, within: Self.ample).verdict == .accepted)
      #expect(try await door.status().hardware == hardware.identity.id)
      if count % 2 == 0 { await door.disconnect() }
    }
    await process.end()
    #expect(process.lines.filter { $0.contains("command of class 1: done") }.count == 4)
  }

  @Test("a call that is cancelled, or whose deadline passes, ends where no peer answers")
  func deaf() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let app = try app(1, at: hardware)
    // It stops without closing: who connects waits.
    process.signal(SIGSTOP)
    let door = app.connection(over: PipeTransport(.socket(hardware.path("socket"))))
    await #expect(throws: LinkError(.timedOut)) {
      try await door.send(Self.open, within: .milliseconds(50))
    }
    let task = Task { try await door.send(Self.open, within: Self.ample) }
    task.cancel()
    await #expect(throws: LinkError(.cancelled)) { try await task.value }
    process.signal(SIGCONT)
    #expect(try await door.send(Self.open, within: Self.ample).verdict == .accepted)
    await process.end()
  }

  @Test(
    "over the relay a command is done once, whatever it does to the link",
    arguments: [
      ["--loss", "20"], ["--duplication", "200"], ["--reordering", "100"], ["--corruption", "20"],
      ["--truncation", "20"], ["--disconnection", "20"], ["--slowness", "10"],
      ["--hostility", "200"],
      [
        "--loss", "10", "--duplication", "50", "--corruption", "10", "--disconnection", "10",
        "--hostility", "50", "--reordering", "20", "--slowness", "3",
      ],
    ])
  func relay(_ faults: [String]) async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let relay = try await RealProcess(
      "proof-relay",
      [
        "--listen", hardware.path("air"), "--connect", hardware.path("socket"), "--seed", "7",
        "--interval", "2", "--latency", "1",
      ] + faults, until: "listening:")
    let app = try app(1, at: hardware)
    let door = HardwareConnection(
      to: app.pair, proving: app.prover,
      over: PipeTransport(.socket(hardware.path("air")), admission: .zero), memory: HeardMemory(),
      options: .init(mtu: 64, patience: .milliseconds(300)))
    var accepted = 0
    var open = 0
    for _ in 0..<6 {
      do throws(LinkError) {
        _ = try await door.send(Self.open, within: Self.ample)
        accepted += 1
      } catch {
        if error.earlier?.isAccepted == true {
          accepted += 1
          open -= 1
        } else if error.commandMayBeDone {
          open += 1
        }
      }
    }
    await door.disconnect()
    await relay.end()
    await process.end()
    let done = process.lines.filter { $0.contains("command of class 1: done") }.count
    #expect((accepted...accepted + max(0, open)).contains(done), "\(faults)")
    #expect(accepted > 0, "\(faults)")
    #expect(relay.lines.contains("seed 7"))
  }

  /// A connection of this app whose memory is a file.
  private func door(_ app: App, _ hardware: RealHardware, _ socket: String, memory folder: String)
    -> HardwareConnection
  {
    HardwareConnection(
      to: app.pair, proving: app.prover,
      over: PipeTransport(.socket(hardware.path(socket)), admission: .zero),
      memory: LinkMemoryFile(in: folder, for: hardware.identity.id),
      options: .init(mtu: 64, patience: .milliseconds(300)))
  }

  @Test("the hardware's process tells of a copied folder, and of no answer that was lost")
  func copies() async throws {
    let hardware = try await RealHardware(trusting: issuer)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let app = try app(1, at: hardware, ratchet: .report)
    let (first, second) = (hardware.path("first"), hardware.path("second"))
    try FileManager.default.createDirectory(
      atPath: first, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    // Lost answers: the relay drops packets and links, and no copy is told of.
    let relay = try await RealProcess(
      "proof-relay",
      [
        "--listen", hardware.path("air"), "--connect", hardware.path("socket"), "--seed", "11",
        "--interval", "2", "--latency", "1", "--loss", "20", "--disconnection", "20",
      ], until: "listening:")
    for _ in 0..<6 {
      // A new connection each time, as after a restart of the app: the file alone goes on.
      let owner = door(app, hardware, "air", memory: first)
      _ = try? await owner.send(Self.open, within: Self.ample)
      #expect(try await owner.hasSeenCopy() == false)
      await owner.disconnect()
    }
    await relay.end()
    let owner = door(app, hardware, "socket", memory: first)
    _ = try await owner.settle(within: Self.ample)
    #expect(try await owner.send(Self.open, within: Self.ample).verdict == .accepted)
    await owner.disconnect()
    // The folder is copied; both go on.
    try FileManager.default.copyItem(atPath: first, toPath: second)
    let copy = door(app, hardware, "socket", memory: second)
    #expect(try await copy.send(Self.open, within: Self.ample).verdict == .accepted)
    await copy.disconnect()
    let later = door(app, hardware, "socket", memory: first)
    #expect(try await later.send(Self.open, within: Self.ample).verdict == .acceptedCopy)
    #expect(try await later.hasSeenCopy())
    await later.disconnect()
    await process.end()
  }

  @Test("the relay's fates are the seed's")
  func sameFates() async throws {
    func fates(_ seed: String) async throws -> [String] {
      let hardware = try await RealHardware(trusting: issuer)
      defer { hardware.scrap() }
      let process = try await hardware.powerOn()
      let relay = try await RealProcess(
        "proof-relay",
        [
          "--listen", hardware.path("air"), "--connect", hardware.path("socket"), "--seed", seed,
          "--interval", "1", "--latency", "0", "--duplication", "300", "--reordering", "0",
        ], until: "listening:")
      let app = try app(1, at: hardware)
      let door = app.connection(
        over: PipeTransport(.socket(hardware.path("air")), admission: .zero), mtu: 23)
      _ = try await door.send(Self.open, within: Self.ample)
      await door.disconnect()
      await relay.end()
      await process.end()
      return relay.lines.filter { $0.hasPrefix("  to ") }
    }
    let first = try await fates("8")
    #expect(first.count == 2)
    #expect(try await fates("8") == first)
    #expect(try await fates("9") != first)
  }
}
