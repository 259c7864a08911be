// SPDX-License-Identifier: Apache-2.0

import Foundation
import LinkBench
import ProofKit
import ProofLink
import ProofModel
import RealProcess
import Testing

/// An app carries the log of the hardware's own process, and the backend's reader reads it.
@Suite("The hardware's log, carried from its process", .serialized)
struct LogProcessTests {
  private static let open = Command("open", class: 1)
  /// Only a hang lasts as long.
  private static let ample = Duration.seconds(60)
  private static let drawn = [UInt8](repeating: 77, count: 32)
  private let issuer = IssuerKey.random()
  private let instance = try! InstanceID([UInt8](repeating: 3, count: 16))

  private func secrets() throws -> HardwareSecrets {
    try HardwareSecrets(
      integrityKey: SecretBytes(copying: [UInt8](repeating: 1, count: 16).span),
      integrity: SecretBytes(copying: [UInt8](repeating: 1, count: 32).span),
      deviceKey: SecretBytes(copying: [UInt8](repeating: 2, count: 16).span),
      device: SecretBytes(copying: [UInt8](repeating: 2, count: 32).span), form: .diversified)
  }

  private func door(at hardware: RealHardware, mtu: Int = 185) throws -> HardwareConnection {
    let drawn = SecretBytes(copying: Self.drawn.span)
    let factory = try FactorySecret(of: hardware.identity.id, drawn: drawn)
    let grant = try MeasurementGrant(
      for: hardware.identity.id, instance: instance, mode: .production, integrityClasses: .all,
      attempts: 3, uses: .limited(100), generation: 1, issued: 1_800_000_000, secrets: secrets(),
      version: .two)
    let token = try grant.sealed(to: hardware.identity, with: factory, signedBy: issuer)
    return HardwareConnection(
      to: try Bench.pair(token, at: hardware.identity.id, of: instance),
      proving: BenchProver(secrets: try secrets()),
      over: PipeTransport(.socket(hardware.path("socket"))), memory: HeardMemory(),
      options: .init(mtu: mtu))
  }

  /// Reads the parts as the backend does.
  private func read(
    _ parts: [HardwareLogPart], of hardware: RealHardware
  ) throws -> (entries: [HardwareLogEntry], outcome: HardwareLogOutcome) {
    let drawn = SecretBytes(copying: Self.drawn.span)
    var reader = HardwareLogReader(of: try HardwareLogKey(of: hardware.identity.id, drawn: drawn))
    var found: [HardwareLogFinding] = []
    // Phones store bytes.
    for part in parts { found += try reader.read(HardwareLogPart(part.bytes)) }
    let (last, outcome) = reader.end()
    return ((found + last).compactMap(\.entry), outcome)
  }

  @Test("an app that sent a command carries the whole log", arguments: [185, 23])
  func carried(mtu: Int) async throws {
    let hardware = try await RealHardware(trusting: issuer, drawn: Self.drawn, keepsLog: true)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let door = try door(at: hardware, mtu: mtu)
    for _ in 0..<20 { _ = try await door.send(Self.open, within: Self.ample) }
    let nonce = HardwareLogNonce.random()
    let parts = try await door.collectLog(answering: nonce, within: Self.ample)
    #expect(parts.last?.isLast == true)
    #expect(parts.allSatisfy { $0.nonce == nonce })
    let (entries, outcome) = try read(parts, of: hardware)
    #expect(outcome == .whole)
    #expect(entries.filter { $0.event == .command && $0.verdict == .accepted }.count == 20)
    #expect(entries.filter { $0.event == .token }.count == 1)
    #expect(entries.first?.note?.hasStarted == true)
    #expect(entries.map(\.number) == (0..<UInt64(entries.count)).map { $0 })
    // From where it ended: nothing new, and then what came since.
    let end = try #require(parts.last?.next)
    #expect(try await door.collectLog(from: end, within: Self.ample).map(\.entries) == [end..<end])
    _ = try await door.send(Self.open, within: Self.ample)
    let more = try await door.collectLog(from: end, within: Self.ample)
    #expect(more.map(\.entries) == [end..<end + 1])
    #expect(try read(parts + more, of: hardware).entries.count == entries.count + 1)
    await process.end()
  }

  @Test("a link without an accepted command gets no log, and the next note counts the refusal")
  func refused() async throws {
    let hardware = try await RealHardware(trusting: issuer, drawn: Self.drawn, keepsLog: true)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let door = try door(at: hardware)
    var error = await #expect(throws: LinkError.self) {
      _ = try await door.collectLog(within: Self.ample)
    }
    #expect(error?.reason == .logNotPermitted)
    #expect(error?.code == "LINK-23")
    _ = try await door.send(Self.open, within: Self.ample)
    let parts = try await door.collectLog(within: Self.ample)
    #expect(try read(parts, of: hardware).entries.first?.note?.refused.commands == 1)
    // On another link the command before counts no more.
    await door.disconnect()
    error = await #expect(throws: LinkError.self) {
      _ = try await door.collectLog(within: Self.ample)
    }
    #expect(error?.reason == .logNotPermitted)
    await process.end()
  }

  @Test("more parts than a command pays for end the collection, and the next one goes on")
  func pace() async throws {
    let hardware = try await RealHardware(trusting: issuer, drawn: Self.drawn, keepsLog: true)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let door = try door(at: hardware)
    _ = try await door.send(Self.open, within: Self.ample)
    for _ in 0..<16 { _ = try await door.collectLog(within: Self.ample) }
    let error = await #expect(throws: LinkError.self) {
      _ = try await door.collectLog(within: Self.ample)
    }
    #expect(error?.reason == .logNotPermitted)
    _ = try await door.send(Self.open, within: Self.ample)
    #expect(try await door.collectLog(within: Self.ample).last?.isLast == true)
    await process.end()
  }

  @Test("hardware without a log says so")
  func missing() async throws {
    let hardware = try await RealHardware(trusting: issuer, drawn: Self.drawn)
    defer { hardware.scrap() }
    let process = try await hardware.powerOn()
    let door = try door(at: hardware)
    _ = try await door.send(Self.open, within: Self.ample)
    let error = await #expect(throws: LinkError.self) {
      _ = try await door.collectLog(within: Self.ample)
    }
    #expect(error?.reason == .logMissing)
    // The link goes on.
    #expect(try await door.send(Self.open, within: Self.ample).verdict == .accepted)
    await process.end()
  }

  @Test("a part that is lost is asked for again; a link that ends leaves the parts that came")
  func lost() throws {
    var exchange = Self.exchange(from: 0)
    #expect(Self.sent(exchange.start()).map(\.first) == [0x08])
    #expect(Self.asked(exchange.handle(.received(Self.declarations))) == 0)
    // The answer is lost: the timer goes off, and the same is asked for again.
    #expect(Self.asked(exchange.handle(.timeout(2))) == 0)
    let first = Self.notified(first: 0, count: 9, next: 12)
    var actions = first.flatMap { exchange.handle(.received($0)) }
    #expect(Self.asked(actions) == 9)
    // The first answer comes once more: the question stands.
    #expect(first.flatMap { exchange.handle(.received($0)) }.isEmpty)
    actions = exchange.handle(.disconnected)
    guard case .finish(.success(.log(let parts))) = actions.last else {
      Issue.record("\(actions)")
      return
    }
    #expect(parts.map(\.entries) == [0..<9])
    let link = exchange.link
    #expect(link == nil)
  }

  @Test("hardware that answers nothing, or ever more, ends the exchange")
  func endless() throws {
    var exchange = Self.exchange(from: 0)
    _ = exchange.start()
    _ = exchange.handle(.received(Self.declarations))
    var actions: [LinkExchange.Action] = []
    for timer in 2...4 { actions = exchange.handle(.timeout(timer)) }
    guard case .finish(.failure(let error)) = actions.last else {
      Issue.record("\(actions)")
      return
    }
    #expect(error.reason == .linkLost)
    let mayRestart = exchange.mayRestart
    #expect(!mayRestart)

    exchange = Self.exchange(from: 0)
    _ = exchange.start()
    _ = exchange.handle(.received(Self.declarations))
    var count = 0
    var parts: [HardwareLogPart]?
    while parts == nil, count < 1000 {
      let first = UInt64(9 * count)
      for pdu in Self.notified(first: first, count: 9, next: 1 << 40) {
        actions = exchange.handle(.received(pdu))
      }
      count += 1
      if case .finish(.success(.log(let found))) = actions.last { parts = found }
    }
    #expect(parts?.count == LinkExchange.logPartCountMax)
  }

  // MARK: An exchange without hardware

  private static let table = AttributeTable(
    values: Dictionary(
      uniqueKeysWithValues: AttributeTable.Characteristic.allCases.map { ($0, 2 * $0.rawValue) }),
    verdictDescriptor: 40)
  private static let nonce = try! HardwareLogNonce([UInt8](repeating: 5, count: 16))

  private static func exchange(from first: UInt64) -> LinkExchange {
    let token = try! MeasurementToken(
      Array("PT".utf8) + [1, 1] + [UInt8](repeating: 0, count: 284))
    return LinkExchange(
      LinkRequest(
        .log(from: first, nonce), token: token, isHeld: true, table: table,
        link: OpenLink(mtu: 185, table: table)))
  }

  /// The declaration of the log's characteristic, with its value at 0x0050.
  private static var declarations: [UInt8] {
    [0x09, 21, 0x4F, 0, 0x0C, 0x50, 0]
      + [0x54, 0x45, 0x32, 0x92, 0xDB, 0x07, 0xCD, 0xB2, 0x44, 0x4F, 0xDA, 0x3E, 11, 0, 0x19, 0xDB]
  }

  private static func sent(_ actions: [LinkExchange.Action]) -> [[UInt8]] {
    actions.compactMap { if case .send(let pdu) = $0 { pdu } else { nil } }
  }

  /// The entry from which a LOG-ASK asks.
  private static func asked(_ actions: [LinkExchange.Action]) -> UInt64? {
    let pdus = sent(actions)
    guard pdus.count == 1, pdus[0].prefix(3) == [0x52, 0x50, 0], pdus[0].count == 3 + 4 + 24 + 2
    else { return nil }
    return pdus[0][7..<15].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The notifications of a LOG.
  private static func notified(first: UInt64, count: Int, next: UInt64) -> [[UInt8]] {
    var bytes = [first, 0, next].flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    bytes += [0, 0, 0, 0, 0, 0, UInt8(count), 0]
    bytes += [UInt8](repeating: 9, count: 32 * count + 16)
    let packets = try! Message(.log, bytes).packets(of: 182)
    return packets.map { [0x1B, UInt8(table[.verdict]), 0] + $0 }
  }
}
