import LinkBench
import ProofLink
import ProofModel
import Testing

/// All that uses the hardware on the bench, of which there is one: one test after the other.
@Suite(.serialized) struct BenchTests {}

/// An app, the hardware on the bench, and a way between them that the test decides about.
struct Stage {
  static let open = try! Command(Array("open".utf8), class: CommandClass(1))
  static let patience = Duration.seconds(3)
  static let deadline = Duration.seconds(30)

  let bench: Bench
  let token: MeasurementToken
  let transport: BenchTransport
  let clock: StillClock

  init(
    _ bench: Bench, uses: Uses = .limited(1000), generation: UInt32 = 1,
    clock: StillClock = StillClock(),
    decide: @escaping @Sendable (Int) -> BenchTransport.Fate = { _ in .carry }
  ) throws {
    self.bench = bench
    token = try bench.token(uses: uses, generation: generation)
    transport = BenchTransport(bench, decide: decide)
    self.clock = clock
  }

  /// The same app, another way.
  init(_ stage: Stage, _ bench: Bench) {
    self.bench = bench
    token = stage.token
    transport = BenchTransport(bench)
    clock = stage.clock
  }

  func connection(
    mtu: Int = 185, proving prover: BenchProver? = nil, memory: LinkMemory = LinkMemory(),
    over other: (any LinkTransport)? = nil,
    remember: @escaping @Sendable (LinkMemory) throws -> Void = { _ in }
  ) -> HardwareConnection {
    HardwareConnection(
      to: bench.identity.id, as: bench.instance, presenting: token,
      proving: prover ?? BenchProver(secrets: bench.secrets), over: other ?? transport,
      options: .init(mtu: mtu, patience: Self.patience), memory: memory, clock: clock,
      remember: remember)
  }
}
