// SPDX-License-Identifier: Apache-2.0

import Console
import HTTPServing
import ProofBackend
import ProofModel

/// The options of the command line.
struct UnlockOptions: Sendable {
  var server: HTTPServerSettings
  let keyFiles: [String]
  let issuerFile: String
  /// The file of the factory key; nil if no hardware has a factory secret.
  let factoryKeyFile: String?
  let store: String
  let ledger: String
  let trustsClock: Bool
  let tokenHeader: String
  let bindingHeader: String?
  /// The file of users; nil if every app that passes gets a token, for any user.
  let usersFile: String?
  let permissions: GrantPermissions
  var rules = TokenVerifier.Rules()

  /// The files that may be replaced while it runs.
  var files: [String] { keyFiles + [issuerFile] + [factoryKeyFile, usersFile].compactMap { $0 } }

  private static let known = [
    Option("--port", "N", help: "port on this machine; the system chooses one if missing"),
    Option("--keys", "FILE,…", help: "keys of the service's tokens: a JWK or a JWKS in each file"),
    Option("--issuer-key", "FILE", help: "the backend's signing key, as `proofctl` made it"),
    Option("--factory-key", "FILE", help: "opens factory secrets, for hardware that has one"),
    Option(
      "--store", "FILE|URI",
      help: "the account's store, a file or postgres://…, for its hardware; no lock is opened"),
    Option("--ledger", "FOLDER|URI", help: "remembers what was issued: a folder or postgres://…"),
    Option("--users", "FILE", help: "the users: NAME SHA256-OF-SECRET HARDWARE,…|* a line"),
    Option("--anyone", help: "instead of --users: each app that passes, for any user"),
    Option("--trust-clock", help: "signs although the clock is 90 days beyond the ledger"),
    Option("--token-header", "NAME", help: "tokens come in this header; Proof-Token if missing"),
    Option("--binding-header", "NAME", help: "tokens must be bound to this header's value"),
    Option("--audience", "NAME", help: "tokens must be for this API"),
    Option("--classes", "N,…", help: "command classes of an integrity match"),
    Option("--device-classes", "N,…", help: "command classes of a device match; none if missing"),
    Option("--attempts", "N", help: "integrity failures allowed; 5 if missing"),
    Option("--uses", "N|unlimited", help: "commands allowed; unlimited if missing"),
    Option("--lifetime", "SECONDS|endless", help: "30 days if missing"),
    Option("--ratchet", "report|refuse", help: "what the lock does with copies; none if missing"),
    Option("--delegable-classes", "N,…", help: "classes the app may lend; none if missing"),
    Option("--sealed-only", help: "the lock takes sealed commands only"),
    Option("--channel", help: "a sealed command may open a channel for further ones"),
  ]

  private static let usage = Usage(
    "proof-unlock",
    "--keys FILE --issuer-key FILE --store FILE --ledger FOLDER|URI --classes N,… --users FILE",
    "Answers POST /unlock-grant?hardware=ID with a measurement token, until its standard input ends.",
    known)

  init(_ arguments: some Collection<String>) {
    self = Self.usage.made(of: arguments) { try Self($0) }
  }

  private init(_ options: Options) throws {
    server = HTTPServerSettings(port: try options.number("--port", within: 0...65_535) ?? 0)
    // It runs behind a proxy, and all its connections come from there.
    server.limits.connectionsPerAddress = 0
    _ = try options.needed("--keys")
    keyFiles = options.list("--keys")
    issuerFile = try options.needed("--issuer-key")
    factoryKeyFile = options.value("--factory-key")
    store = try options.needed("--store")
    ledger = try options.needed("--ledger")
    usersFile = options.value("--users")
    guard (usersFile == nil) == options.has("--anyone") else {
      throw UsageError(
        "--users and --anyone: give one of the two")
    }
    trustsClock = options.has("--trust-clock")
    tokenHeader = options.value("--token-header") ?? "Proof-Token"
    guard !tokenHeader.isEmpty, tokenHeader.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }),
      !tokenHeader.contains(":")
    else { throw UsageError("--token-header takes the name of a header, such as Proof-Token") }
    bindingHeader = options.value("--binding-header")?.lowercased()
    permissions = try GrantPermissions(
      classes: options.needed("--classes"), deviceClasses: options.value("--device-classes"),
      attempts: options.value("--attempts"), uses: options.value("--uses"),
      lifetime: options.value("--lifetime"), ratchet: options.value("--ratchet"),
      delegable: options.value("--delegable-classes"),
      demandsSealing: options.has("--sealed-only"), permitsChannel: options.has("--channel"))
    rules.audience = options.value("--audience")
  }
}
