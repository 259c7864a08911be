// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The attestation service, and its operator.
final class AttestationSide {
  /// The API whose tokens carry measurements.
  static let api = "lock.example.com"

  /// The certificate that vouches for the service.
  var authority: String { certificate.chain }
  private let certificate: Certificate
  private let folder: String
  private let cast: Cast
  private let tool: Tool
  /// The flags of `proofctl` that name the account.
  let account: [String]
  private var process: Child?
  private var port = OwnPort()

  var store: String { folder + "/store" }
  var url: String { "https://127.0.0.1:\(port.number)" }

  /// Makes certificate, account and keys.
  init(_ cast: Cast, _ tool: Tool) throws {
    self.cast = cast
    self.tool = tool
    folder = cast.folder + "/service"
    try PrivateFiles.makeFolder(folder)
    certificate = try Certificate(in: folder, named: "service", by: tool)
    try PrivateFiles.write(PrivateFiles.randomText(), to: folder + "/store.key")
    account = ["--store", folder + "/store", "--key-file", folder + "/store.key"]
    let management = folder + "/management"
    try tool.operate(
      ["init", "demo", "--url", "https://127.0.0.1:1", "--management-token", management] + account)
    try tool.operate(["sdk", "add", "--development"] + account)
    try tool.operate(["api", "add", Self.api, "--jwe"] + account)
  }

  /// Starts the service: at the first time on a port that is free, then on the same.
  func start() throws {
    let isFirst = port.number == 0
    process = try port.start { port in
      let child = try Child(
        "proof-service", tool.path("proof-service"),
        account + [
          "--listen", "127.0.0.1:\(port)", "--certificate", authority, "--private-key",
          certificate.key, "--log", "json", "--quiet",
        ], in: cast)
      try child.line(with: "listening")
      return child
    }
    if isFirst { try tool.operate(["config", "url", url] + account) }
  }

  func stop() {
    process?.stop()
    process = nil
  }

  /// The signed configuration that an app of this account is built with.
  func configuration() throws -> String {
    try tool.operate(["config", "show"] + account, as: Configuration.self).signed
  }

  /// The part of the configuration that every app and gate begins with: it ends with the fingerprint of the key that
  /// signs.
  func initialConfiguration() throws -> String {
    try tool.operate(["config", "show"] + account, as: Configuration.self).initial
  }

  /// Registers a build of the app.
  func register(_ executable: String, bundle: String) throws {
    try tool.operate(["registration", "add", executable, "--bundle", bundle] + account)
  }

  /// Registers an update of a registered build, with records from a reference machine.
  func register(
    _ executable: String, bundle: String, updating present: String, records: String
  ) throws {
    let digest = try tool.operate(
      ["registration", "digest", executable, "--bundle", present], as: Build.self
    ).digest
    let file = folder + "/records"
    try PrivateFiles.write(records + "\n", to: file)
    let added = try tool.operate(
      [
        "registration", "add", executable, "--bundle", bundle, "--upcoming", digest, "--records",
        file,
      ] + account, as: Registration.self)
    if let reason = added.upcoming.reason { throw StageFailure("not predicted: \(reason)") }
  }

  /// The properties of an installation's last report.
  func properties(of instance: String) throws -> [String] {
    try tool.operate(["device", "list"] + account, as: [Device].self)
      .first { $0.device == instance }?.properties ?? []
  }

  /// The key that opens this account's measurement tokens, in a backend's form: a JWK.
  func sealingKey() throws -> String {
    let secret = try tool.operate(["sealing", "get"] + account, as: Secret.self).secret
    let encoded = secret.replacingOccurrences(of: "+", with: "-")
      .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    return #"{"kty":"oct","alg":"dir","k":"\#(encoded)"}"#
  }

  private struct Device: Decodable {
    let device: String
    let properties: [String]
  }
  private struct Build: Decodable { let digest: String }
  private struct Registration: Decodable {
    struct Upcoming: Decodable { let reason: String? }
    let upcoming: Upcoming
  }
  private struct Configuration: Decodable {
    let initial: String
    let signed: String
  }
  private struct Secret: Decodable { let secret: String }
}
