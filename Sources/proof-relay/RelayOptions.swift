// SPDX-License-Identifier: Apache-2.0

import Console
import LinkSimulation

/// The options of the command line.
struct RelayOptions {
  let listen: String
  let connect: String
  let seed: UInt64
  let faults: LinkFaults

  private typealias Chance = WritableKeyPath<LinkFaults, Int> & Sendable

  private static let chances: [(name: String, help: String, path: Chance)] = [
    ("--loss", "a PDU is lost", \.loss),
    ("--duplication", "it comes twice", \.duplication),
    ("--reordering", "it comes three intervals later", \.reordering),
    ("--corruption", "one of its bits is another", \.corruption),
    ("--truncation", "its end is missing", \.truncation),
    ("--disconnection", "the link ends instead", \.disconnection),
    ("--hostility", "a stranger on the air says something", \.hostility),
  ]
  private static let known: [Option] =
    [
      Option("--listen", "PATH", help: "where apps connect: a Unix socket, made and removed again"),
      Option("--connect", "PATH", help: "where the hardware listens"),
      Option("--seed", "N", help: "the seed of all random choices; drawn and printed if missing"),
    ]
    + chances.map { Option($0.name, "N", help: $0.help) }
    + [
      Option("--interval", "MS", help: "between connection events (30)"),
      Option("--latency", "MS", help: "that a PDU takes on top (20)"),
      Option("--slowness", "MS", help: "that a slow peer takes for each PDU (0)"),
      Option("--ends-at", "N", help: "each link ends at its PDU number N"),
    ]

  private static let usage = Usage(
    "proof-relay", "--listen PATH --connect PATH [options]",
    """
    Stands between an app and its hardware as a bad link does (docs/LINK.md, section 10). Chances
    are in thousandths, for each PDU in each direction. The same seed gives the same fates.
    """, known)

  init(_ arguments: some Collection<String>) {
    self = Self.usage.made(of: arguments) { try Self($0) }
  }

  private init(_ options: Options) throws(UsageError) {
    listen = try options.needed("--listen")
    connect = try options.needed("--connect")
    seed = try options.number("--seed", within: UInt64.min...UInt64.max) ?? .random(in: 1...999_999)
    var faults = LinkFaults()
    for chance in Self.chances {
      faults[keyPath: chance.path] = try options.number(chance.name, within: 0...1000) ?? 0
    }
    faults.interval = try options.number("--interval", within: 1...4000) ?? faults.interval
    faults.latency = try options.number("--latency", within: 0...60_000) ?? faults.latency
    faults.slowness = try options.number("--slowness", within: 0...60_000) ?? faults.slowness
    faults.endsAtPDU = try options.number("--ends-at", within: 1...1_000_000)
    self.faults = faults
  }
}
