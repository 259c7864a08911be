// SPDX-License-Identifier: Apache-2.0

import Console
import HTTPServing
import ProofBench
import ProofJOSE
import ProofKit
import ProofModel
import ProofService
import SimulatedDevices

/// Attestations: what the service works for one, and how many a second a running one answers.
func attestGroup(_ runs: ServiceRuns) throws -> Group {
  let memory = try ServiceDesk(MemoryStore())
  let disk = try ServiceDesk(
    SQLiteStore(creatingAt: Workplace.folder("desk") + "/store"))
  var candidates: [Candidate] = [
    .whole("challenge.memory", count: 10) { count in
      for _ in 0..<count { _ = try memory.challenge() }
    },
    Candidate(name: "report.make", count: 10) { count in
      let challenge = try memory.challenge()
      let start = ContinuousClock.now
      for _ in 0..<count { _ = try memory.report(answering: challenge) }
      return ContinuousClock.now - start
    },
    memory.candidate("attestation.memory"),
    disk.candidate("attestation.sqlite"),
  ]
  var ratios = [
    ("attestation.sqlite", "attestation.memory"), ("attestation.memory", "report.make"),
  ]
  if let service = try runs.start() {
    candidates.append(service.candidate("attestation.http"))
    ratios.append(("attestation.http", "attestation.sqlite"))
  }
  return Group(name: "attest", candidates: candidates, ratios: ratios)
}

/// A service in this process, and an app that attests to it, without any transport in between.
final class ServiceDesk {
  private let service: AttestationService
  private let device: SimulatedDevice
  private static let account = "demo"
  private static let domain = "api.example.com"

  init(_ store: some Store) throws {
    service = AttestationService(account: try Self.open(store), logsReports: false)
    device = try SimulatedDevice(0, records: 20, account: Self.account)
    try attest()
  }

  /// An account that knows this build's key, has one API, and limits no rates.
  static func open(_ store: some Store, _ key: [UInt8] = [UInt8](repeating: 7, count: 32)) throws
    -> Account
  {
    let account = try Account.create(
      account, in: store, lockedBy: .keyFile(JOSESecret(copying: key.span)),
      url: "https://127.0.0.1:8443"
    ).account
    let management = Management(account)
    let build = MeasurementProofKey.sdk.withBytes { bytes in
      JOSESecret(count: bytes.byteCount) { secret in
        for index in 0..<bytes.byteCount {
          secret[index] = unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
        }
      }
    }
    try management.addSDKBuild(key: build, name: "bench", mode: .development)
    try management.add(API(domain))
    var policy = try management.policy()
    policy.deviceRate = 0
    policy.addressRate = 0
    try management.set(policy)
    return account
  }

  func challenge() throws -> AttestationChallenge {
    try AttestationChallenge(post(device.question().bytes, "/v1/challenge"))
  }

  /// The app's part: evidence folded, sealed to the service's key.
  func report(answering challenge: AttestationChallenge) throws -> [UInt8] {
    try device.report(for: Self.domain, answering: challenge)
  }

  /// A whole attestation; the service's part of it is what it takes.
  @discardableResult
  func attest() throws -> Duration {
    let asked = ContinuousClock.now
    let challenge = try challenge()
    let challenged = ContinuousClock.now
    let report = try report(answering: challenge)
    let sent = ContinuousClock.now
    let bytes = try judge(report)
    let judged = ContinuousClock.now
    let answer = try AttestationAnswer(bytes, to: challenge.draft.salt, with: .sdk)
    guard answer.outcome == .done else {
      throw PeerError("the service answers \(answer.outcome)")
    }
    return (challenged - asked) + (judged - sent)
  }

  /// The service's answer to a report.
  func judge(_ report: [UInt8]) throws -> [UInt8] { try post(report, "/v1/report") }

  /// The two halves of the service's part.
  func operations(_ name: String) -> [Operation] {
    let waiting = Held<[UInt8]>([])
    return [
      Operation("\(name).challenge") { _ = try self.challenge() },
      Operation(
        "\(name).report",
        prepare: { waiting.value = try self.report(answering: try self.challenge()) },
        { _ = try self.judge(waiting.value) }),
    ]
  }

  func candidate(_ name: String) -> Candidate {
    Candidate(name: name, count: 5) { count in
      try (0..<count).reduce(Duration.zero) { total, _ in try total + self.attest() }
    }
  }

  private func post(_ body: [UInt8], _ path: String) throws -> [UInt8] {
    let response = service.respond(
      to: HTTPRequest(method: "POST", path: path, body: body, peer: "192.0.2.7"))
    guard response.status == 200 else {
      throw PeerError("the service answers \(response.status) to \(path)")
    }
    return response.body
  }
}

/// `proof-service` and `proof-load` as they were built beside this program.
final class ServiceRuns {
  private static let pairs = 200
  private static let connections = 16

  private let service: String
  private let load: String
  private var running: Subprocess?
  private var address = ""
  /// The programs that are not there, and how to get them.
  let missing: [String]

  init() {
    service = "\(Workplace.programs)/proof-service"
    load = "\(Workplace.programs)/proof-load"
    missing = [("proof-service", service), ("proof-load", load)].compactMap { name, path in
      Workplace.isThere(path)
        ? nil : "attestation over HTTP: swift build -c release --product \(name)"
    }
  }

  /// Starts a service on a new store; nil if it is not built.
  func start() throws -> ServiceRuns? {
    guard missing.isEmpty else { return nil }
    let folder = try Workplace.folder("service")
    _ = try ServiceDesk.open(SQLiteStore(creatingAt: folder + "/store"))
    try Workplace.write([UInt8](repeating: 7, count: 32), to: folder + "/key")
    let running = try Subprocess(
      [
        service, "--store", folder + "/store", "--key-file", folder + "/key", "--plain", "--listen",
        "127.0.0.1:0", "--log", "json", "--quiet", "--trusted-proxy", "127.0.0.1",
      ], kept: .kept)
    guard let line = running.line(), let port = Self.number("port", in: line) else {
      throw PeerError("proof-service does not start")
    }
    address = "127.0.0.1:\(Int(port))"
    self.running = running
    return self
  }

  /// So many attestations by many devices at once: the time of one is what all took, over their number.
  func candidate(_ name: String) -> Candidate {
    Candidate(name: name, count: Self.pairs) { count in
      let load = try Subprocess(
        [
          self.load, "--to", self.address, "--json", "--pairs", "\(count)", "--connections",
          "\(Self.connections)",
        ], kept: .kept)
      let text = load.rest()
      guard load.end() == 0, let seconds = Self.number("seconds", in: text) else {
        throw PeerError("proof-load: \(text)")
      }
      return .seconds(seconds)
    }
  }

  /// The number of a name in JSON that one of our programs printed.
  private static func number(_ name: String, in text: String) -> Double? {
    let key = Array("\"\(name)\":".utf8)
    let bytes = Array(text.utf8)
    guard
      let place = bytes.indices.first(where: { bytes[$0...].starts(with: key) })
    else { return nil }
    let rest = bytes[(place + key.count)...].drop { $0 == UInt8(ascii: " ") }
    let digits = rest.prefix { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    return Double(String(decoding: digits, as: UTF8.self))
  }
}
