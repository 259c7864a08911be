// SPDX-License-Identifier: Apache-2.0

import Console

/// The options of the command line.
struct DemoOptions {
  /// An act, by its number.
  enum Act: String, CaseIterable {
    case lock = "1"
    case shop = "2"
  }

  let json: Bool
  let isSlow: Bool
  let seed: UInt64
  /// The act to play; nil for both.
  let act: Act?
  let hardware: String?
  let prepared: String?

  private static let known = [
    Option("--json", help: "prints every line as JSON, at the end"),
    Option("--seed", "N", help: "the seed of all random choices; 5 if missing"),
    Option("--slow", help: "waits before every step, for an audience"),
    Option("--act", "N", help: "only one act: 1, the lock, or 2, the API; both if missing"),
    Option(
      "--hardware", "PROGRAM", help: "another lock than proof-hardware, with its options"),
    Option(
      "--prepare", "FOLDER", help: "only enrols a phone, and leaves all there to go on by hand"),
  ]

  private static let usage = Usage(
    "proof-demo",
    """
    [options]
           proof-demo app --help        the sample apps, by hand
           proof-demo attack --help     the thief's programs
    """,
    """
    Plays a lock, the app that opens it, the service that believes the app, and thieves; then
    a shop's API, its app, and thieves of requests: all as processes of their own, on this
    machine. Ends with 0 only if every line ended as it must.
    """, known)

  init(_ arguments: some Collection<String>) {
    self = Self.usage.made(of: arguments) { try Self($0) }
  }

  private init(_ options: Options) throws(UsageError) {
    json = options.has("--json")
    isSlow = options.has("--slow")
    seed = try options.number("--seed", within: 0...UInt64.max) ?? 5
    act = try options.choice("--act")
    hardware = options.value("--hardware")
    prepared = options.value("--prepare")
    guard act != .shop || prepared == nil && hardware == nil else {
      throw UsageError("--act 2 has no lock: leave out --hardware and --prepare")
    }
  }
}
