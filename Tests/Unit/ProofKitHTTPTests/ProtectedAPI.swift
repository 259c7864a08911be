// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import ProofModel
import Testing

@testable import ProofKit

/// The API of `Tests/Process/Service/protected_api.py`, in a process of its own. It ends with the test.
final class ProtectedAPI {
  struct Greeting: Decodable {
    let ports: [Int]
    let verifies: Bool
  }

  struct Seen: Decodable {
    struct Request: Decodable {
      let port: Int
      let method: String
      let target: String
      let fields: [[String]]
      let size: Int
      let verdict: String

      func value(of name: String) -> String? { fields.first { $0.first == name }?.last }
    }

    let requests: [Request]
  }

  /// The interpreter that has the library of PyPI, where it is installed.
  static let foreign: String? = {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let path = root.path + "/.build/pypi/bin/python"
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = ["-c", "import http_message_signatures"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    process.waitUntilExit()
    return process.terminationStatus == 0 ? path : nil
  }()

  private let peer: PythonPeer
  let greeting: Greeting

  init(python: String = "/usr/bin/python3") throws {
    peer = try PythonPeer(["protected_api.py"], python: python)
    greeting = try JSONDecoder().decode(Greeting.self, from: peer.line())
  }

  /// Tells a key, and what the ports have seen.
  func seen(_ command: [String: String] = [:]) throws -> [Seen.Request] {
    try JSONDecoder().decode(Seen.self, from: peer.ask(command)).requests
  }

  func url(_ path: String, port: Int = 0) -> String {
    "http://127.0.0.1:\(greeting.ports[port])\(path)"
  }
}

/// A session that was admitted without a service.
struct AdmittedSession {
  let session: GateSession
  let keys: GateKeys

  init(
    hosts: [String], form: GateAdmission.Form = .standard, pins: [String: [String]] = [:],
    transport: some Transport
  ) throws {
    let scene = FixedScene()
    let key = MeasurementProofKey.sdk
    let attestor = Attestor(observer: scene, over: transport, appName: "door")
    let draft = try BaselineDraft(
      salt: .random(), sources: Probe.sources, generation: 1)
    let evidence = try scene.observe(
      draft.sources, policy: draft.policy, limitLog2: draft.limitLog2, cancellation: Cancellation()
    ).evidence
    let config = try MeasurementConfig(baseline: evidence, draft, with: key)
    let (gate, instance) = (GateID.random(), InstanceID.random())
    let secret = try GateSecret(
      of: Measurement(of: evidence, under: config, with: key), for: gate, instance: instance,
      generation: 1, with: key)
    let token = try GateToken(
      Array("PG".utf8) + [1, 1, 1] + gate.bytes.prefix(3) + [UInt8](repeating: 5, count: 280))
    let admission = try GateAdmission(
      gate: gate, generation: 1, life: 3_600, token: token,
      accountKey: GateAccountKey(.random(count: 32), number: 1), form: form,
      headers: .init(proof: "x-proof", token: "x-token"), hosts: hosts)
    keys = secret.keys
    session = try GateSession(
      attestor, for: "127.0.0.1", options: .init(allowsPlainLoopback: true))
    let admitted = Admitted(
      admission: admission, config: config, instance: instance, handle: keys.handle, serverTime: nil
    )
    let now = attestor.surroundings.clock.uptime()
    session.state.withLock { state in
      state.phase = .working
      state.take(admitted, obtained: now, jitter: 1)
    }
  }

  /// The key of the standard form, in hexadecimal.
  var requestKey: String {
    keys.withRequestKey { key in
      (0..<key.byteCount).map { place in
        let byte = unsafe key.unsafeLoad(fromByteOffset: place, as: UInt8.self)
        return (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }.joined()
    }
  }
}
