// SPDX-License-Identifier: Apache-2.0

import AccountStores
import DurableFiles
import ProofJOSE
import ProofKit
import ProofKitHTTP
import ProofService

/// The account of a verb: in its store, or behind a running service.
enum AccountAccess {
  case store(Management)
  case service(RemoteAccount)

  init(_ invocation: Invocation) throws {
    let store = invocation.value("--store", else: "PROOF_STORE")
    let service = invocation.value("--service", else: "PROOF_SERVICE")
    switch (store, service) {
    case (let path?, nil): self = .store(Management(try Self.open(path, invocation)))
    case (nil, let url?): self = .service(try RemoteAccount(url, invocation))
    case (_?, _?):
      throw Failure.usage("name either a store or a service (--store, --service), not both")
    case (nil, nil):
      throw Failure.usage(
        "name the account: --store FILE|URI, or --service URL with its management token")
    }
  }

  /// Whether the command line names an account, for a verb that does not need one.
  static func isNamed(_ invocation: Invocation) -> Bool {
    invocation.value("--store", else: "PROOF_STORE") != nil
      || invocation.value("--service", else: "PROOF_SERVICE") != nil
  }

  /// Carries out a verb of the management API.
  func perform(_ verb: String, _ arguments: JSONObject = JSONObject()) throws -> JSONValue {
    switch self {
    case .store(let management): try management.perform(verb, arguments)
    case .service(let remote): try remote.perform(verb, arguments)
    }
  }

  private static func open(_ path: String, _ invocation: Invocation) throws -> Account {
    let store = try StorePlace(path).open()
    let lock = try lock(invocation)
    return try Account.open(in: store, with: lock)
  }

  /// The passphrase or key file that locks the store.
  static func lock(_ invocation: Invocation) throws -> AccountLock {
    let keyFile = invocation.value("--key-file")
    let passphraseFile = invocation.value("--passphrase-file")
    guard keyFile == nil || passphraseFile == nil else {
      throw Failure.usage("a store is locked by a key file or a passphrase, not by both")
    }
    if let keyFile {
      let bytes = try SecretFile.read(keyFile, limit: 4_096)
      return AccountLock.keyFile(JOSESecret(copying: bytes.span))
    }
    let bytes = try passphrase(in: passphraseFile)
    return AccountLock.passphrase(JOSESecret(copying: bytes.span))
  }

  private static func passphrase(in file: String?) throws -> [UInt8] {
    if let file {
      // Remove every line end that editors add, as the service does, because both open the same
      // store.
      let bytes = try SecretFile.read(file, limit: 4_096)
      let last = bytes.lastIndex { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
      return Array(bytes.prefix(last.map { $0 + 1 } ?? 0))
    }
    guard let text = Invocation.environment("PROOF_PASSPHRASE") else {
      throw Failure.usage(
        "say how the store is locked: --key-file, --passphrase-file or PROOF_PASSPHRASE")
    }
    return Array(text.utf8)
  }
}

/// A running service, called with its management token.
struct RemoteAccount {
  /// The size limit of an answer. Lists have no limit of their own.
  private static let answerMax = 16 << 20

  let url: String
  private let transport: CurlTransport
  private let token: String?

  init(_ url: String, _ invocation: Invocation) throws {
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    transport = CurlTransport(
      .init(authorities: invocation.value("--ca"), allowsPlainLoopback: true))
    token =
      try invocation.value("--token-file").map { try Invocation.text(of: "@" + $0) }
      ?? Invocation.environment("PROOF_MANAGEMENT_TOKEN")
  }

  func perform(_ verb: String, _ arguments: JSONObject) throws -> JSONValue {
    guard let token else {
      throw Failure.usage(
        "the service wants its management token: --token-file or PROOF_MANAGEMENT_TOKEN")
    }
    let body = Array(JSONValue.object(arguments).text.utf8)
    var request = TransportRequest(
      url: "\(url)/v1/manage/\(verb)", body: body, timeout: .seconds(30),
      responseLimit: Self.answerMax)
    request.authorization = "Bearer \(token)"
    let response = try send(request)
    let answer = try? JSONValue(parsing: response.body.span, bytesMax: Self.answerMax)
    guard response.status == 200, let answer else {
      if case .object(let object)? = answer, let words = object.text("error") {
        throw Failure(words)
      }
      throw Failure(
        "\(url) answered with status \(response.status): is it the attestation service?")
    }
    return answer
  }

  /// Gets a page that needs no token.
  func get(
    _ path: String, pins: [String] = [], timeout: Duration = .seconds(10)
  ) throws -> TransportResponse {
    try send(TransportRequest(url: url + path, pins: pins, timeout: timeout))
  }

  private func send(_ request: TransportRequest) throws -> TransportResponse {
    do throws(TransportError) {
      return try transport.send(request)
    } catch {
      throw Failure("\(url): \(error)")
    }
  }
}
