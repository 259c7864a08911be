// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel

/// The shop whose API asks for proofs: its process, its gate and what the account lists of it.
final class ShopSide {
  /// The gate's name in the account, and whose events count at the shop.
  private static let gate = "shop"
  private static let audience = "till"

  /// The certificates that apps trust: the shop's own, and that of a proxy which has nothing to do with it.
  let authorities: [String]
  /// All that the shop has received, as a thief of its memory has it.
  let record: String
  private let folder: String
  private let cast: Cast
  private let tool: Tool
  private let service: AttestationSide
  private let certificate: Certificate
  private let strange: Certificate
  private var users: [ShopUser] = []
  private var process: Child?
  private var port = OwnPort()

  /// The host, as the account lists it.
  var host: String { "127.0.0.1:\(port.number)" }
  var url: String { "https://\(host)" }
  private var configuration: String { folder + "/gate.jws" }

  /// Makes certificates, the gate with its key, and the shop's own files.
  init(_ cast: Cast, _ tool: Tool, service: AttestationSide) throws {
    self.cast = cast
    self.tool = tool
    self.service = service
    folder = cast.folder + "/shop"
    record = folder + "/record"
    try PrivateFiles.makeFolder(folder)
    certificate = try Certificate(in: folder, named: "shop", by: tool)
    strange = try Certificate(in: folder, named: "proxy", by: tool)
    authorities = [certificate.chain, strange.chain]
    let publicKey = try tool.operate(
      ["gate", "keys", "new", folder + "/gate.key"], as: GateKey.self
    ).publicKey
    try PrivateFiles.write(publicKey + "\n", to: folder + "/gate.public")
    try tool.operate(
      [
        "gate", "add", Self.gate, "--public", folder + "/gate.public", "--development",
        "--freshness", "5",
      ]
        + service.account)
    try configure()
  }

  /// Makes a user with a purse.
  func addUser(_ name: String, cents: Int) -> ShopUser {
    let user = ShopUser(name: name, secret: PrivateFiles.randomText(), cents: cents)
    users.append(user)
    return user
  }

  /// Makes the files of a gate that has judged nothing yet, and starts for the first time.
  func begin() throws {
    let lines = users.map { user in
      "\(user.name) \(Digest(hashing: Array(user.secret.utf8))) \(user.cents)\n"
    }
    try PrivateFiles.write(lines.joined(), to: folder + "/users")
    try tool.run(tool.path("proof-shop"), ["prepare", folder + "/state"])
    try start()
  }

  /// Starts the shop, at the same place as before.
  func start() throws {
    let initial = try service.initialConfiguration()
    process = try port.start { port in
      let child = try Child(
        "proof-shop", tool.path("proof-shop"),
        [
          "--listen", "127.0.0.1:\(port)", "--certificate", certificate.chain, "--private-key",
          certificate.key, "--folder", folder + "/state", "--configuration", configuration,
          "--fingerprint", String(initial.split(separator: "#").last ?? ""), "--gate-key",
          folder + "/gate.key", "--audience", Self.audience, "--users", folder + "/users",
          "--record", record,
        ], in: cast)
      try child.line(with: "listening on port")
      return child
    }
  }

  func stop() {
    process?.stop()
    process = nil
  }

  /// Has the account list the API, its key and its events, and hands the gate what the service signed.
  func list() throws {
    try tool.operate(["api", "add", host, "--gate", Self.gate] + service.account)
    try tool.operate(["pin", "set", host, certificate.pin(by: tool)] + service.account)
    try tool.operate(
      ["event", "add", "3300", "--gate", Self.gate, "--audience", Self.audience, "--account"]
        + ["--data"] + service.account)
    try configure()
  }

  private func configure() throws {
    try tool.operate(
      ["gate", "configuration", Self.gate, "--output", configuration] + service.account)
  }

  /// Skips the log so far.
  func turnPage() { process?.skip() }

  /// The outcome, read from the shop's log, of the next request with a path.
  func verdict(on path: String) throws -> String {
    guard let process else { throw StageFailure("the shop is closed") }
    let mark = " \(path): "
    guard let line = process.line(withErrors: mark),
      let text = line.components(separatedBy: mark).last
    else { return "no request" }
    // "POST /orders: done (1a2b3c4d)", "POST /orders: refused: The proof was used before."
    return text.components(separatedBy: " (")[0].lowercased().trimmingCharacters(in: ["."])
  }

  /// Puts a proxy with a certificate of its own in the shop's place while something is done. Returns how many bytes
  /// of requests it has read.
  func behindProxy(_ act: () throws -> AppAnswer) throws -> (AppAnswer, byteCount: Int) {
    stop()
    let proxy = try Child(
      "the proxy", "/usr/bin/env",
      ["openssl", "s_server", "-accept", host, "-cert", strange.chain, "-key", strange.key],
      in: cast)
    try proxy.line(with: "ACCEPT")
    let answer = try act()
    proxy.cut()
    let heads = proxy.rest().filter { $0.contains("HTTP/1.1") }
    try start()
    return (answer, heads.reduce(0) { $0 + $1.utf8.count })
  }

  private struct GateKey: Decodable { let publicKey: String }
}

/// A user of the shop.
struct ShopUser {
  let name: String
  let secret: String
  let cents: Int
}
