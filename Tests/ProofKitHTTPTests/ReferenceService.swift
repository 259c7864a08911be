import Foundation
import ProofKit
import ProofModel
import Testing

/// The service of `Tests/Service`, in a process of its own: real TLS, real sockets. It ends with the
/// test.
final class ReferenceService {
  struct Greeting: Decodable {
    let ports: [String: Int]
    let pins: [String: String]
    let authority: String
    let account: String
    let fingerprint: String
  }

  struct Seen: Decodable {
    let paths: [String: Int]
    let connections: [String: Int]
    let bytes: [String: Int]
    let waiting: Int
  }

  struct Last: Decodable {
    let purpose: Int
    let subject: String
    let user_property: String
    let development_key: String
    let data_hash: String?
    let properties: [String: String]
    let device: String
    let config: String?
    let withheld: Int
  }

  /// Certificates are made once for all tests of a run.
  private static let certificates: String = {
    let folder = "/var/tmp/proofkit-certificates-\(ProcessInfo.processInfo.processIdentifier)"
    atexit {
      let folder = "/var/tmp/proofkit-certificates-\(ProcessInfo.processInfo.processIdentifier)"
      try? FileManager.default.removeItem(atPath: folder)
    }
    do {
      try run(["-c", "import certificates, sys; certificates.make_all(sys.argv[1])", folder])
    } catch {
      fatalError("The certificates cannot be made: \(error)")
    }
    return folder
  }()

  private static let home = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Service")

  private static func process(_ arguments: [String]) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = arguments
    process.currentDirectoryURL = home
    process.environment = ["PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"]
    return process
  }

  private static func run(_ arguments: [String]) throws {
    let process = process(arguments)
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw CocoaError(.featureUnsupported) }
  }

  private let process: Process
  private let input = Pipe()
  private let output = Pipe()
  private var rest = Data()
  private(set) var greeting: Greeting!

  init() throws {
    process = Self.process(["reference_service.py", Self.certificates])
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    greeting = try JSONDecoder().decode(Greeting.self, from: try line())
  }

  deinit {
    // It ends with its input; what still hangs in it ends with it.
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  private func line() throws -> Data {
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest = Data(rest[(end + 1)...]) }
        return rest[..<end]
      }
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else { throw CocoaError(.fileReadUnknown) }
      rest += more
    }
  }

  @discardableResult
  private func ask(_ command: [String: Any]) throws -> Data {
    let bytes = try JSONSerialization.data(withJSONObject: command)
    try input.fileHandleForWriting.write(contentsOf: bytes + Data("\n".utf8))
    return try line()
  }

  /// Changes attributes of the account.
  func set(_ attributes: [String: Any]) throws { try ask(["set": attributes]) }

  /// Misbehaves; nil: no more.
  func behave(_ how: Any?, at path: String = "*") throws {
    try ask(["behave": how ?? NSNull(), "path": path])
  }

  func seen() throws -> Seen { try JSONDecoder().decode(Seen.self, from: ask(["seen": true])) }

  func last() throws -> Last { try JSONDecoder().decode(Last.self, from: ask(["last": true])) }

  /// The version of TLS that a client without demands gets at a listener.
  func version(at listener: String) throws -> String {
    let answer = try JSONSerialization.jsonObject(with: ask(["reach": listener]))
    return try #require((answer as? [String: String])?["version"])
  }

  /// A message's signature, made by the second implementation.
  func signature(of message: String, key: String) throws -> String {
    let answer = try JSONSerialization.jsonObject(with: ask(["sign": message, "key": key]))
    return try #require((answer as? [String: String])?["signature"])
  }

  /// A signed configuration.
  func configuration(_ changes: [String: Any] = [:]) throws -> String {
    let answer = try JSONSerialization.jsonObject(with: ask(["configuration": changes]))
    return try #require((answer as? [String: String])?["configuration"])
  }

  func url(_ listener: String = "good") -> String {
    let scheme = listener == "plain" ? "http" : "https"
    return "\(scheme)://127.0.0.1:\(greeting.ports[listener] ?? 0)"
  }

  func shortForm(_ listener: String = "good") -> String {
    "#\(greeting.account)@127.0.0.1:\(greeting.ports[listener] ?? 0)#\(greeting.fingerprint)"
  }
}

/// The parts of a machine that do not depend on its state: a debug build is slow to look at code.
struct FixedScene: EvidenceObserver {
  var collection: CollectionMode = []

  func observe(
    _ sources: [Source], policy: MeasurementPolicy, limitLog2: UInt8, cancellation: Cancellation
  ) throws(ProofError) -> Observation {
    var records: [EvidenceRecord] = []
    for source in sources {
      records.append(
        try EvidenceRecord(
          source.id, name: "all", digest: Digest(hashing: Array("\(source.id)".utf8))))
    }
    return Observation(try EvidenceSet(records))
  }

  func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet {
    try observe(
      config.sources, policy: config.policy, limitLog2: 33, cancellation: Cancellation()
    ).evidence
  }
}
