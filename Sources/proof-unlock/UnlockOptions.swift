import Console
import ProofBackend
import ProofModel
import ProofService

/// What the command line asked for.
struct UnlockOptions: Sendable {
  let server: HTTPServerSettings
  let keyFiles: [String]
  let issuerFile: String
  let store: String
  let ledger: String
  let bindingHeader: String?
  let permissions: GrantPermissions
  var rules = TokenVerifier.Rules()

  private static let known = [
    Option("--port", "N", help: "port on this machine; the system chooses one if missing"),
    Option("--keys", "FILE,…", help: "keys of the service's tokens, one JWK in each file"),
    Option("--issuer-key", "FILE", help: "the backend's signing key, as `proofctl` made it"),
    Option("--store", "FILE", help: "the account's store, for its hardware; no lock is opened"),
    Option("--ledger", "FOLDER", help: "remembers what was issued"),
    Option("--binding-header", "NAME", help: "tokens must be bound to this header's value"),
    Option("--audience", "NAME", help: "tokens must be for this API"),
    Option("--classes", "N,…", help: "command classes of an integrity match"),
    Option("--device-classes", "N,…", help: "command classes of a device match; none if missing"),
    Option("--attempts", "N", help: "integrity failures allowed; 5 if missing"),
    Option("--uses", "N|unlimited", help: "commands allowed; unlimited if missing"),
    Option("--lifetime", "SECONDS|endless", help: "30 days if missing"),
  ]

  private static let usage = Usage(
    "proof-unlock", "--keys FILE --issuer-key FILE --store FILE --ledger FOLDER --classes N,…",
    "Answers POST /unlock-grant?hardware=ID with a measurement token, until its standard input ends.",
    known)

  init(_ arguments: some Collection<String>) {
    self = Self.usage.made(of: arguments) { try Self($0) }
  }

  private init(_ options: Options) throws {
    server = HTTPServerSettings(port: try options.number("--port", within: 0...65_535) ?? 0)
    _ = try options.needed("--keys")
    keyFiles = options.list("--keys")
    issuerFile = try options.needed("--issuer-key")
    store = try options.needed("--store")
    ledger = try options.needed("--ledger")
    bindingHeader = options.value("--binding-header")?.lowercased()
    permissions = try GrantPermissions(
      classes: options.needed("--classes"), deviceClasses: options.value("--device-classes"),
      attempts: options.value("--attempts"), uses: options.value("--uses"),
      lifetime: options.value("--lifetime"))
    rules.audience = options.value("--audience")
  }
}
