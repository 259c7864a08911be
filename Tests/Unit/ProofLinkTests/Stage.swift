// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofLink
import ProofModel
import Testing

/// All that uses the hardware on the bench, of which there is one: one test after the other.
@Suite(.serialized) struct BenchTests {}

/// An app, the hardware on the bench, and a way between them that the test decides about.
struct Stage {
  static let open = Command("open", class: 1)
  static let patience = Duration.seconds(3)
  static let deadline = Duration.seconds(30)

  let bench: Bench
  let token: MeasurementToken
  let pair: PairedHardware
  let transport: BenchTransport
  let clock: StillClock

  init(
    _ bench: Bench, uses: Uses = .limited(1000), generation: UInt32 = 1,
    ratchet: RatchetPolicy? = nil, demandsSealing: Bool = false,
    permitsChannel: Bool = false, clock: StillClock = StillClock(),
    decide: @escaping @Sendable (Int) -> BenchTransport.Fate = { _ in .carry }
  ) throws {
    self.bench = bench
    token = try bench.token(
      uses: uses, generation: generation, ratchet: ratchet, demandsSealing: demandsSealing,
      permitsChannel: permitsChannel)
    pair = try bench.pair(token)
    transport = BenchTransport(bench, decide: decide)
    self.clock = clock
  }

  /// The same app, another way.
  init(_ stage: Stage, _ bench: Bench) {
    self.bench = bench
    token = stage.token
    pair = stage.pair
    transport = BenchTransport(bench)
    clock = stage.clock
  }

  func connection(
    mtu: Int = 185, proving prover: BenchProver? = nil, memory: LinkMemory = LinkMemory(),
    over other: (any LinkTransport)? = nil, keeping keeper: ConnectionKeeper? = nil,
    remember: @escaping @Sendable (LinkMemory) throws -> Void = { _ in }
  ) -> HardwareConnection {
    HardwareConnection(
      to: pair, proving: prover ?? BenchProver(secrets: bench.secrets), over: other ?? transport,
      memory: HeardMemory(memory, remember), clock: clock,
      options: .init(mtu: mtu, patience: Self.patience), keeping: keeper)
  }

  /// Sends four commands over a link that may be cut: whichever is lost, none looks like a copy.
  static func expectNoCopy(seenBy door: HardwareConnection, _ place: Comment) async throws {
    for _ in 0..<4 {
      do throws(LinkError) {
        #expect(try await door.send(open).verdict == .accepted, place)
      } catch {
        // It is settled, or is at the next call.
        continue
      }
    }
    #expect(try await door.hasSeenCopy() == false, place)
  }
}

/// A connection's memory in this process. A test hears each change, and may refuse it.
final class HeardMemory: LinkMemoryStore {
  private let bytes: CoreLock<[UInt8]>
  private let hears: @Sendable (LinkMemory) throws -> Void

  init(
    _ memory: LinkMemory = LinkMemory(),
    _ hears: @escaping @Sendable (LinkMemory) throws -> Void = { _ in }
  ) {
    bytes = CoreLock(memory.bytes)
    self.hears = hears
  }

  func load() -> [UInt8]? { bytes.withLock { $0 } }

  func save(_ saved: [UInt8]) throws {
    try hears(LinkMemory(saved))
    bytes.withLock { $0 = saved }
  }
}

extension Stage {
  /// A stage after an accepted command, with a new token whose second fragment hardware answers with *busy* and 7 s.
  static func busy(_ bench: Bench) async throws -> Stage {
    let first = try Stage(bench)
    _ = try await first.connection().send(Stage.open)
    let counted = first.transport.count
    let busy = Array<UInt8>([49, 7, 0] + [UInt8](repeating: 0, count: 40))
    let packets = try Message(.verdict, busy).packets(of: 182)
    // At MTU 185 that fragment is the sixth PDU before the end.
    return try Stage(bench, generation: 2) {
      $0 == counted - 5 ? .answer(packets.map { [0x1B, 0x0A, 0x00] + $0 }) : .carry
    }
  }
}
