import Console
import DurableFiles
import ProofBackend
import ProofJOSE
import ProofModel
import ProofService

/// Puts ``UnlockGrant`` behind the web server.
struct UnlockHandler: HTTPHandler {
  private let grant: UnlockGrant

  init(_ options: UnlockOptions) throws {
    var keys: [JSONWebKey] = []
    for path in options.keyFiles {
      let text = try SecretFile.read(path, limit: 8_192)
      keys.append(try JSONWebKey(parsing: text.span))
    }
    let seed = try SecretFile.read(options.issuerFile, limit: 32)
    let issuer = MeasurementTokenIssuer(
      try IssuerKey(seed: SecretBytes(copying: seed.span)),
      for: try AccountHardware(in: SQLiteStore(at: options.store)),
      ledger: try IssueLedgerFile(folder: options.ledger),
      clockStep: options.trustsClock ? nil : MeasurementTokenIssuer.defaultClockStep)
    let permissions = options.permissions
    let users = try options.usersFile.map { try UnlockUsers(file: $0) }
    grant = UnlockGrant(
      try TokenVerifier(keys, rules: options.rules), issuer, bindingHeader: options.bindingHeader,
      log: { Terminal.complain($0) },
      authorization: { request in users?.user(of: request) ?? (users == nil ? .anyone : nil) },
      permit: { application in
        guard users?.mayUse(application) ?? true else { return nil }
        return permissions
      })
  }

  func respond(to request: HTTPRequest) -> HTTPResponse {
    guard request.path == "/unlock-grant" else {
      return HTTPResponse(status: 404, text: "there is no such path")
    }
    let answer = grant.answer(
      UnlockGrant.Request(
        method: request.method, query: request.query, headers: request.headers))
    return HTTPResponse(status: answer.status, headers: answer.headers, body: answer.body)
  }
}
