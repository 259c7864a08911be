// SPDX-License-Identifier: Apache-2.0

import AccountStores
import Console
import DurableFiles
import HTTPServing
import ProofBackend
import ProofJOSE
import ProofModel
import ProofService
import Synchronization

/// Serves ``UnlockGrant`` over HTTP.
///
/// Its files (keys, issuer key, factory key, users) may be replaced while it runs: they are read again before
/// the next request. If the new files cannot be used, the old ones stay in use, and a log line
/// gives the reason.
final class UnlockHandler: HTTPHandler {
  private struct State {
    var marks: [FileMark]
    var grant: UnlockGrant
  }

  private let options: UnlockOptions
  private let store: any Store
  private let ledger: any IssueLedger
  private let state: Mutex<State>

  init(_ options: UnlockOptions) throws {
    self.options = options
    store = try StorePlace(options.store).open()
    ledger = try LedgerPlace.open(options.ledger)
    let marks = options.files.map { FileMark($0) }
    state = Mutex(
      State(marks: marks, grant: try Self.grant(options, of: store, ledger: ledger)))
  }

  private static func grant(
    _ options: UnlockOptions, of store: any Store, ledger: any IssueLedger
  ) throws -> UnlockGrant {
    var keys: [JSONWebKey] = []
    for path in options.keyFiles {
      let text = try SecretFile.read(path, limit: 65_536)
      keys += try JSONWebKey.keys(parsing: text.span)
    }
    let registry = try AccountHardware(
      in: store, factoryKey: factoryKey(in: options.factoryKeyFile))
    let seed = try SecretFile.read(options.issuerFile, limit: 32)
    let issuer = MeasurementTokenIssuer(
      try IssuerKey(seed: SecretBytes(copying: seed.span)), for: registry, ledger: ledger,
      clockStep: options.trustsClock ? nil : MeasurementTokenIssuer.defaultClockStep)
    let permissions = options.permissions
    let users = try options.usersFile.map { try UnlockUsers(file: $0) }
    return UnlockGrant(
      try TokenVerifier(keys, rules: options.rules), issuer, tokenHeader: options.tokenHeader,
      bindingHeader: options.bindingHeader, log: { Terminal.complain($0) },
      authorization: { request in users?.user(of: request) ?? (users == nil ? .anyone : nil) },
      permit: { application in
        guard users?.mayUse(application) ?? true else { return nil }
        return permissions
      })
  }

  private static func factoryKey(in file: String?) throws -> FactoryKey? {
    guard let file else { return nil }
    let bytes = try SecretFile.read(file, limit: FactoryKey.byteCount)
    return try FactoryKey(JOSESecret(copying: bytes.span))
  }

  /// The grant of the present files.
  private func present() -> UnlockGrant {
    state.withLock { state in
      let marks = options.files.map { FileMark($0) }
      guard marks != state.marks else { return state.grant }
      // Take the marks before reading: files that change meanwhile are then read again.
      state.marks = marks
      do {
        state.grant = try Self.grant(options, of: store, ledger: ledger)
        Terminal.complain("proof-unlock: read its files again")
      } catch {
        Terminal.complain(
          "proof-unlock: \(error). The previous files stay in use; replace the named one.")
      }
      return state.grant
    }
  }

  func respond(to request: HTTPRequest) -> HTTPResponse {
    guard request.path == "/unlock-grant" else {
      return HTTPResponse(status: 404, text: "there is no such path")
    }
    let answer = present().answer(
      UnlockGrant.Request(
        method: request.method, query: request.query, headers: request.headers,
        body: request.body))
    return HTTPResponse(status: answer.status, headers: answer.headers, body: answer.body)
  }
}
