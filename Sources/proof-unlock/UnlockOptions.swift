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

  init(_ arguments: [String]) {
    do {
      let options = try Options(arguments.dropFirst(), taking: Self.known)
      if options.has("--help") {
        print(
          Options.help(
            "proof-unlock --keys FILE --issuer-key FILE --store FILE --ledger FOLDER "
              + "--classes N,…",
            "Answers POST /unlock-grant?hardware=ID with a measurement token, until its standard "
              + "input ends.", Self.known))
        Terminal.end(0)
      }
      func needed(_ name: String) throws(UsageError) -> String {
        guard let value = options.value(name) else { throw UsageError("\(name) is missing") }
        return value
      }
      guard let port = UInt16(options.value("--port") ?? "0") else {
        throw UsageError("--port takes a number up to 65535")
      }
      server = HTTPServerSettings(port: port)
      keyFiles = try needed("--keys").split(separator: ",").map(String.init)
      issuerFile = try needed("--issuer-key")
      store = try needed("--store")
      ledger = try needed("--ledger")
      bindingHeader = options.value("--binding-header")?.lowercased()
      permissions = try GrantPermissions(
        classes: needed("--classes"), deviceClasses: options.value("--device-classes"),
        attempts: options.value("--attempts"), uses: options.value("--uses"),
        lifetime: options.value("--lifetime"))
      rules.audience = options.value("--audience")
    } catch {
      Terminal.complain("proof-unlock: \(error)\ntry proof-unlock --help")
      Terminal.end(2)
    }
  }
}
