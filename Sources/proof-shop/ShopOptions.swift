// SPDX-License-Identifier: Apache-2.0

import Console
import HTTPServing
import ProofModel

/// The options of the command line.
struct ShopOptions: Sendable {
  let server: HTTPServerSettings
  /// The host of the API with its port, as the account lists it; nil for the address it listens on.
  let host: String?
  let configuration: String
  let fingerprint: Digest
  let keyFiles: [String]
  let audience: String
  let usersFile: String
  let folder: String
  let record: String?

  /// The files that may be replaced while the shop runs.
  var files: [String] { keyFiles + [configuration] }

  private static let known = [
    Option("--folder", "FOLDER", help: "its own secret and replay stores; see prepare"),
    Option("--configuration", "FILE", help: "what `proofctl gate configuration` wrote"),
    Option("--fingerprint", "BASE64", help: "of the key that signs it: the end of `config show`"),
    Option("--gate-key", "FILE,…", help: "the gate's keys, as `proofctl gate keys new` made them"),
    Option("--audience", "NAME", help: "whose events count here"),
    Option("--users", "FILE", help: "the users: NAME SHA256-OF-SECRET CENTS a line"),
    Option("--certificate", "FILE", help: "its certificate, in PEM"),
    Option("--private-key", "FILE", help: "the certificate's key, in PEM"),
    Option("--listen", "ADDRESS:PORT", help: "127.0.0.1:0 if missing; port 0: any"),
    Option("--host", "HOST", help: "its name in the account; where it listens if missing"),
    Option("--record", "FILE", help: "writes all that it receives, secrets too; for tests"),
  ]

  private static let usage = Usage(
    "proof-shop",
    """
    --folder FOLDER --configuration FILE --fingerprint BASE64 --gate-key FILE,…
                      --audience NAME --users FILE --certificate FILE --private-key FILE
           proof-shop prepare FOLDER     makes the folder of a new gate's shop, once
    """,
    """
    A shop's API: judges each request and each event by itself, until its standard input ends.
      GET /prices            needs a proof of the request
      POST /orders?item=…    needs a proof of the request, and a user
      POST /vouchers         needs an event token in Proof-Event, and a user
    Users sign in with `Authorization: Bearer SECRET`.
    """, known)

  private static let preparing = Usage(
    "proof-shop prepare", "FOLDER", "Makes the folder of a new gate's shop, once.", [],
    takesOperands: true)

  /// The folder that `prepare` names.
  static func folder(toPrepare arguments: some Collection<String>) -> String {
    preparing.made(of: arguments) { options in
      guard options.operands.count == 1 else { throw UsageError("name one folder") }
      return options.operands[0]
    }
  }

  init(_ arguments: some Collection<String>) {
    self = Self.usage.made(of: arguments) { try Self($0) }
  }

  private init(_ options: Options) throws {
    let (address, port) = try options.endpoint("--listen") ?? ("127.0.0.1", 0)
    let certificate = HTTPCertificateFiles(
      chain: try options.needed("--certificate"), privateKey: try options.needed("--private-key"))
    server = HTTPServerSettings(address: address, port: port, certificate: certificate)
    host = options.value("--host")
    configuration = try options.needed("--configuration")
    guard let bytes = Base64.decode(try options.needed("--fingerprint")),
      let digest = try? Digest(bytes)
    else { throw UsageError("--fingerprint takes 44 characters of base64") }
    fingerprint = digest
    _ = try options.needed("--gate-key")
    keyFiles = options.list("--gate-key")
    audience = try options.needed("--audience")
    usersFile = try options.needed("--users")
    folder = try options.needed("--folder")
    record = options.value("--record")
  }
}
