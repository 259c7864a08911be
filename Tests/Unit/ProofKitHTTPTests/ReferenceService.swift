// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofModel
import Testing

/// The service of `Tests/Process/Service`, in a process of its own: real TLS, real sockets. It ends with the
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
      try PythonPeer.run([
        "-c", "import certificates, sys; certificates.make_all(sys.argv[1])", folder,
      ])
    } catch {
      fatalError("The certificates cannot be made: \(error)")
    }
    return folder
  }()

  private let peer: PythonPeer
  let greeting: Greeting

  init() throws {
    peer = try PythonPeer(["reference_service.py", Self.certificates])
    greeting = try JSONDecoder().decode(Greeting.self, from: peer.line())
  }

  /// Changes attributes of the account.
  func set(_ attributes: [String: Any]) throws { try peer.ask(["set": attributes]) }

  /// Misbehaves; nil: no more.
  func behave(_ how: Any?, at path: String = "*") throws {
    try peer.ask(["behave": how ?? NSNull(), "path": path])
  }

  func seen() throws -> Seen { try JSONDecoder().decode(Seen.self, from: peer.ask(["seen": true])) }

  func last() throws -> Last { try JSONDecoder().decode(Last.self, from: peer.ask(["last": true])) }

  /// The version of TLS that a client without demands gets at a listener.
  func version(at listener: String) throws -> String {
    let answer = try JSONSerialization.jsonObject(with: peer.ask(["reach": listener]))
    return try #require((answer as? [String: String])?["version"])
  }

  /// A message's signature, made by the second implementation.
  func signature(of message: String, key: String) throws -> String {
    let answer = try JSONSerialization.jsonObject(with: peer.ask(["sign": message, "key": key]))
    return try #require((answer as? [String: String])?["signature"])
  }

  /// A signed configuration.
  func configuration(_ changes: [String: Any] = [:]) throws -> String {
    let answer = try JSONSerialization.jsonObject(with: peer.ask(["configuration": changes]))
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
