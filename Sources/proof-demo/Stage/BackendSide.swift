// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The backend of the lock's maker: a protected API that turns tokens into measurement tokens, and
/// the key that signs for the locks. The account of the attestation service knows them.
final class BackendSide {
  let issuer: String
  private let folder: String
  private let cast: Cast
  private let tool: Tool
  private let service: AttestationSide
  private var process: Child?
  private var port = OwnPort()
  private var takesGrants = false
  private var sealsCommands = false

  var url: String { "http://127.0.0.1:\(port.number)" }
  private var ledger: String { folder + "/ledger" }
  private var issuerKey: String { folder + "/issuer.key" }
  private var factoryKey: String { folder + "/factory.key" }

  init(_ cast: Cast, _ tool: Tool, service: AttestationSide) throws {
    self.cast = cast
    self.tool = tool
    self.service = service
    folder = cast.folder + "/backend"
    try PrivateFiles.makeFolder(folder)
    issuer = try tool.operate(
      ["issuer", "new", "--output", folder + "/issuer.key"], as: Issuer.self
    ).publicKey
  }

  /// Makes a lock's name, key and factory secret, and registers the lock.
  func enter(
    secretKey path: String, factorySecret secretPath: String, takingGrants takesGrants: Bool,
    sealing sealsCommands: Bool
  ) throws -> LockIdentity {
    self.takesGrants = takesGrants
    self.sealsCommands = sealsCommands
    return try enter(secretKey: path, factorySecret: secretPath)
  }

  private func enter(
    secretKey path: String, factorySecret secretPath: String
  ) throws -> LockIdentity {
    try tool.operate(
      [
        "hardware", "new", "--output", path, "--factory-secret", secretPath, "--development",
        "--features",
        "token-2,ratchet,upcoming" + (takesGrants ? ",grants" : "")
          + (sealsCommands ? ",sealed,channels" : ""),
      ] + service.account, as: LockIdentity.self)
  }

  /// Starts the API. The status needs only a device match; all other commands need integrity.
  ///
  /// - Parameters:
  ///   - sealingKey: The service's, for the backend.
  ///   - isForGuests: Whether apps get the status alone; else they may lend class 1, too.
  /// - Throws: If it does not start.
  func start(sealingKey: String, isForGuests: Bool = false) throws {
    let key = folder + "/sealing.jwk"
    try PrivateFiles.write(sealingKey, to: key)
    _ = try tool.operate(
      ["hardware", "factory-key", "--output", factoryKey] + service.account, as: Handed.self)
    process = try port.start { port in
      let child = try Child(
        "proof-unlock", tool.path("proof-unlock"),
        [
          "--port", "\(port)", "--keys", key, "--issuer-key", issuerKey,
          "--factory-key", factoryKey, "--store", service.store, "--ledger", ledger, "--classes",
          isForGuests ? "0" : "0,1,2",
          "--device-classes", "0", "--ratchet", "report", "--attempts", "20", "--audience",
          AttestationSide.api, "--anyone",
        ] + (takesGrants && !isForGuests ? ["--delegable-classes", "1"] : [])
          + (sealsCommands ? ["--channel"] : []), in: cast)
      try child.line(with: "listening on port")
      return child
    }
  }

  func stop() {
    process?.close()
    process = nil
  }

  /// Signs the order that ends an installation's rights at a lock.
  func revocation(of instance: String, at lock: LockIdentity) throws -> String {
    try tool.operate(
      [
        "order", "sign", "revoke", lock.id, "--instance", instance, "--issuer-key",
        issuerKey, "--ledger", ledger,
      ] + service.account, as: Order.self
    ).order
  }

  /// Reads the log of a lock from the files of a phone. The account has its key.
  func log(of lock: LockIdentity, in files: [String]) throws -> LogReport {
    // 3 and 4: incomplete and altered.
    try tool.operate(
      ["log", "show", "--hardware", lock.id] + files + service.account, as: LogReport.self,
      ending: [0, 3, 4])
  }

  private struct Issuer: Decodable { let publicKey: String }
  private struct Handed: Decodable { let factoryKey: String }
  private struct Order: Decodable { let order: String }
}

/// The answer of `proofctl log show`.
struct LogReport: Decodable {
  struct Entry: Decodable {
    let event: String
    let verdictName: String?
    let note: Note?
  }

  struct Note: Decodable {
    let started: Bool
    let refusedCommands: Int
    let refusedTokens: Int
  }

  struct Refused: Decodable { let code: String }

  let outcome: String
  let entries: [Entry]
  let refused: [Refused]
}

/// The public identity of a lock.
struct LockIdentity: Decodable {
  let id: String
  let publicKey: String
}
