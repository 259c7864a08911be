import Console
import DurableFiles
import ProofBackend
import ProofGate
import ProofModel

/// The mode of a whole gate.
enum GateMode: String, CaseIterable, Sendable {
  /// Nothing is refused, whatever the rules say.
  case watch
  /// Each rule's own mode counts.
  case rules
}

/// The files that a gate judges by, and how they are read.
struct GateFiles: Sendable {
  let configuration: String
  let fingerprint: Digest
  let keys: [String]
  let ownSecrets: [(number: UInt8, file: String)]
  let routes: String
  let style: ForwardStyle
  let takesRouteNames: Bool
  let mode: GateMode

  /// The files of the gate's own keys: a change of one needs another verifier.
  private var keyFiles: [String] { keys + ownSecrets.map(\.file) }

  static let identityOptions = [
    Option("--configuration", "FILE", help: "what `proofctl gate configuration` wrote"),
    Option("--fingerprint", "BASE64", help: "of the key that signs it: the end of `config show`"),
    Option(
      "--own-secret", "N:FILE,…", help: "its own secrets with their numbers, the active one first"),
  ]

  static let known =
    identityOptions + [
      Option(
        "--gate-key", "FILE,…", help: "the gate's keys, as `proofctl gate keys new` made them"),
      Option("--routes", "FILE", help: "the rules, one for each route: docs/GATE.md"),
      Option(
        "--proxy", "x-original|x-forwarded",
        help: "fields that tell of the request; x-original if missing"),
      Option("--route-names", help: "the proxy names routes in Proof-Route, in each question"),
      Option(
        "--mode", "rules|watch", help: "watch: nothing is refused, all is logged; rules if missing"),
    ]

  init(_ options: Options) throws(UsageError) {
    configuration = try options.needed("--configuration")
    fingerprint = try Self.fingerprint(options)
    _ = try options.needed("--gate-key")
    keys = options.list("--gate-key")
    ownSecrets = try Self.ownSecrets(options)
    routes = try options.needed("--routes")
    style = try options.choice("--proxy") ?? .original
    takesRouteNames = options.has("--route-names")
    mode = try options.choice("--mode") ?? .rules
  }

  static func fingerprint(_ options: Options) throws(UsageError) -> Digest {
    guard let bytes = Base64.decode(try options.needed("--fingerprint")),
      let digest = try? Digest(bytes)
    else { throw UsageError("--fingerprint takes 44 characters of base64") }
    return digest
  }

  static func ownSecrets(_ options: Options) throws(UsageError) -> [(number: UInt8, file: String)] {
    _ = try options.needed("--own-secret")
    return try options.list("--own-secret").map { text throws(UsageError) in
      let parts = text.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, let number = UInt8(parts[0]) else {
        throw UsageError("--own-secret is \(text); it takes a number and a file, as in 1:own.key")
      }
      return (number, String(parts[1]))
    }
  }

  // MARK: Reading

  /// Reads the files.
  ///
  /// - Parameters:
  ///   - replay: Remembers used proofs.
  ///   - held: What the gate judges by so far. Its verifier goes on if gate, issuers and keys stay the same, so that
  ///     apps that it knows stay known.
  /// - Returns: What the gate judges by from now on.
  /// - Throws: If a file cannot be used; the error names it.
  func read(_ replay: any ReplayStore, after held: JudgedBy?) throws -> JudgedBy {
    let configuration = try Self.configuration(
      configuration, fingerprint, after: held?.configuration)
    let own = try Self.own(ownSecrets, of: configuration.gate)
    let marks = keyFiles.map { FileMark($0) }
    let requests: RequestVerifier
    if let held, held.marks == marks, held.configuration.isOfSameKeys(as: configuration) {
      requests = held.requests
    } else {
      let secrets = try keys.map { try GateSecretKey(Self.key(in: $0)) }
      requests = try RequestVerifier(configuration.identity(secrets), own: own, replay: replay)
    }
    let gate = try ForwardGate(
      ForwardGate.Rules(
        configuration, Self.routes(routes), style, takesRouteNames: takesRouteNames,
        watchesAll: mode == .watch), requests, own: own)
    requests.revoke(configuration.revocations)
    return JudgedBy(configuration: configuration, marks: marks, requests: requests, gate: gate)
  }

  static func configuration(
    _ file: String, _ fingerprint: Digest, after held: GateConfiguration? = nil
  ) throws -> GateConfiguration {
    let bytes = try SecretFile.read(file, limit: 65_536)
    let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
    return try GateConfiguration(text, signedBy: fingerprint, after: held)
  }

  static func own(_ secrets: [(number: UInt8, file: String)], of gate: GateID) throws -> GateOwnKeys
  {
    try GateOwnKeys(
      of: gate, secrets.map { try GateOwnSecret(key(in: $0.file), number: $0.number) })
  }

  private static func routes(_ file: String) throws -> RouteFile {
    guard let bytes = try SmallFile.read(file, limit: RouteFile.byteCountMax) else {
      throw GateFailure("there is no file \(file): write the rules into it (docs/GATE.md)")
    }
    do throws(RouteFileError) {
      return try RouteFile(bytes)
    } catch {
      throw GateFailure("\(file), \(error)")
    }
  }

  /// Reads a key of 32 bytes that only its owner may read.
  private static func key(in file: String) throws -> SecretBytes {
    let bytes = try SecretFile.read(file, limit: GateOwnSecret.byteCount)
    return SecretBytes(copying: bytes.span)
  }
}

/// The state that a gate judges by until its files are read again.
struct JudgedBy: Sendable {
  let configuration: GateConfiguration
  let marks: [FileMark]
  let requests: RequestVerifier
  let gate: ForwardGate
}

extension GateConfiguration {
  /// Whether a verifier of one configuration can go on under the other.
  fileprivate func isOfSameKeys(as other: GateConfiguration) -> Bool {
    publicKeys == other.publicKeys && issuers == other.issuers && floor == other.floor
      && mode == other.mode
  }
}

/// The reason why a gate cannot work.
struct GateFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
