// SPDX-License-Identifier: Apache-2.0

import Console

/// Options of the command line.
struct LoadOptions: Sendable {
  let address: String
  let port: UInt16
  let authority: String?
  let account: String
  let domain: String
  let connections: Int
  let devices: Int
  let pairs: Int
  let seconds: Int
  let records: Int
  let isPatient: Bool
  let pause: Int
  let accepted: String?
  let times: String?
  let tokens: String?
  let replayed: String?
  let json: Bool

  private static let known = [
    Option("--to", "ADDRESS:PORT", help: "the service"),
    Option("--tls", "FILE", help: "speaks TLS; the certificate of the authority, PEM"),
    Option("--account", "NAME", help: "the account; demo if missing"),
    Option("--domain", "NAME", help: "the API to fetch tokens for; api.example.com if missing"),
    Option("--connections", "N", help: "kept-alive connections, a thread each; 32 if missing"),
    Option("--devices", "N", help: "simulated devices; 10000 if missing"),
    Option("--pairs", "N", help: "how many attestations; no limit if missing"),
    Option("--seconds", "N", help: "for how long; 10 if neither is given"),
    Option("--records", "N", help: "files in each report's bundle; 20 if missing"),
    Option(
      "--patient",
      help: "goes on when the service is away, and sends an unanswered report again for 60 s"),
    Option("--pause", "MS", help: "pause of a connection between two attestations; 0 if missing"),
    Option("--accepted", "FILE", help: "keeps accepted reports, each with its answer"),
    Option("--times", "FILE", help: "keeps when each report was accepted, in monotonic ms"),
    Option("--tokens", "FILE", help: "keeps every token, each with its length before it"),
    Option("--replay", "FILE", help: "sends such reports again, and each changed"),
    Option("--json", help: "prints the figures as JSON"),
  ]

  private static let usage = Usage(
    "proof-load", "--to ADDRESS:PORT [options]",
    """
    Attests many simulated devices, each with a challenge and a report, as fast as the
    service answers. The service must know this build's key (proofctl init --development).
    """, known)

  init(_ arguments: some Collection<String>) {
    self = Self.usage.made(of: arguments) { try Self($0) }
  }

  private init(_ options: Options) throws(UsageError) {
    guard let to = try options.endpoint("--to") else {
      throw UsageError("--to is missing: it must be like 127.0.0.1:8080")
    }
    (address, port) = to
    authority = options.value("--tls")
    account = options.value("--account") ?? "demo"
    domain = options.value("--domain") ?? "api.example.com"
    connections = try options.number("--connections", within: 1...10_000) ?? 32
    devices = try options.number("--devices", within: 1...1 << 24) ?? 10_000
    let pairs = try options.number("--pairs", within: 1...Int.max)
    self.pairs = pairs ?? .max
    seconds = try options.number("--seconds", within: 1...Int.max) ?? (pairs == nil ? 10 : .max)
    records = try options.number("--records", within: 1...Int.max) ?? 20
    isPatient = options.has("--patient")
    pause = try options.number("--pause", within: 0...60_000) ?? 0
    accepted = options.value("--accepted")
    times = options.value("--times")
    tokens = options.value("--tokens")
    replayed = options.value("--replay")
    json = options.has("--json")
  }
}
