import Console
import ProofLink

/// What the command line asks for.
struct RelayOptions {
  let listen: String
  let connect: String
  let seed: UInt64
  let faults: LinkFaults

  private typealias Chance = WritableKeyPath<LinkFaults, Int> & Sendable

  private static let usage = "proof-relay --listen PATH --connect PATH [options]"
  private static let summary =
    "Stands between an app and its hardware as a bad link does (docs/LINK.md, section 10). Chances\n"
    + "are in thousandths, for each PDU in each direction. The same seed gives the same fates."
  private static let chances: [(name: String, help: String, path: Chance)] = [
    ("--loss", "a PDU is lost", \.loss),
    ("--duplication", "it comes twice", \.duplication),
    ("--reordering", "it comes three intervals later", \.reordering),
    ("--corruption", "one of its bits is another", \.corruption),
    ("--truncation", "its end is missing", \.truncation),
    ("--disconnection", "the link ends instead", \.disconnection),
    ("--hostility", "a stranger on the air says something", \.hostility),
  ]
  private static let options: [Option] =
    [
      Option("--listen", "PATH", help: "where apps connect: a Unix socket, made and removed again"),
      Option("--connect", "PATH", help: "where the hardware listens"),
      Option("--seed", "N", help: "where the fates come from; drawn and printed if it is missing"),
    ]
    + chances.map { Option($0.name, "N", help: $0.help) }
    + [
      Option("--interval", "MS", help: "between connection events (30)"),
      Option("--latency", "MS", help: "that a PDU takes on top (20)"),
      Option("--slowness", "MS", help: "that a slow peer takes for each PDU (0)"),
      Option("--ends-at", "N", help: "each link ends at its PDU number N"),
    ]

  /// Reads a command line. Nil if it asked for help, which is printed.
  init?(_ arguments: [String]) throws(UsageError) {
    let read = try Options(arguments, taking: Self.options)
    guard !read.has("--help") else {
      print(Options.help(Self.usage, Self.summary, Self.options))
      return nil
    }
    guard let listen = read.value("--listen"), let connect = read.value("--connect") else {
      throw UsageError("--listen PATH and --connect PATH are needed; --help tells more")
    }
    self.listen = listen
    self.connect = connect
    seed = try Self.number(read, "--seed", UInt64.min...UInt64.max) ?? .random(in: 1...999_999)
    var faults = LinkFaults()
    for chance in Self.chances {
      faults[keyPath: chance.path] = try Self.number(read, chance.name, 0...1000) ?? 0
    }
    faults.interval = try Self.number(read, "--interval", 1...4000) ?? faults.interval
    faults.latency = try Self.number(read, "--latency", 0...60_000) ?? faults.latency
    faults.slowness = try Self.number(read, "--slowness", 0...60_000) ?? faults.slowness
    faults.endsAtPDU = try Self.number(read, "--ends-at", 1...1_000_000)
    self.faults = faults
  }

  private static func number<N: FixedWidthInteger>(
    _ options: Options, _ name: String, _ range: ClosedRange<N>
  ) throws(UsageError) -> N? {
    guard let text = options.value(name) else { return nil }
    guard let number = N(text), range.contains(number) else {
      throw UsageError("\(name) \(text): allowed are \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
