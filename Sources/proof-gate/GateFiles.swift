// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import EventServing
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
  let page: PageOptions
  /// The most seconds since the configuration was made for which the gate judges by it; nil for what the service says.
  let staleAfter: Int64?
  /// The file of emergency tokens; nil for none.
  let bypass: String?
  /// Whether the proxy tells its request id, in each question.
  let takesRequestIDs: Bool
  /// Counts requests. A reading of the files leaves the counts.
  let limits = GateLimits()
  /// Counts tries and pictures of persons, over all readings.
  private let bounds = PersonBounds()

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
        "--stale-after", "SECONDS",
        help: "judges by a configuration for so long at most, from 1800; 604800 if missing"),
      Option("--bypass-file", "FILE", help: "emergency tokens, as `proof-gate bypass` writes them"),
      Option(
        "--request-ids",
        help: "the proxy tells its request id in each question, and may ask twice for one"),
      Option(
        "--mode", "rules|watch", help: "watch: nothing is refused, all is logged; rules if missing"),
    ] + PageOptions.known

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
    page = try PageOptions(options)
    bypass = options.value("--bypass-file")
    takesRequestIDs = options.has("--request-ids")
    staleAfter = try options.number("--stale-after", within: 1800...604_800)
  }

  static func fingerprint(_ options: Options) throws(UsageError) -> Digest {
    guard let bytes = Base64.decode(try options.needed("--fingerprint")),
      let digest = try? Digest(bytes)
    else { throw UsageError("--fingerprint takes 44 characters of base64") }
    return digest
  }

  static func ownSecrets(_ options: Options) throws(UsageError) -> [(number: UInt8, file: String)] {
    try OwnSecretFiles.listed(options, "--own-secret")
  }

  // MARK: Reading

  /// Reads the files.
  ///
  /// - Parameters:
  ///   - replay: Remembers used proofs.
  ///   - events: Where event tokens are redeemed; nil for nowhere.
  ///   - held: What the gate judges by so far. Its verifier goes on if gate, issuers and keys stay the same, so that
  ///     apps that it knows stay known.
  /// - Returns: What the gate judges by from now on.
  /// - Throws: If a file cannot be used; the error names it.
  func read(
    _ replay: any ReplayStore, _ events: EventPlace? = nil, after held: JudgedBy?
  ) throws -> JudgedBy {
    let configuration = try Self.configuration(
      configuration, fingerprint, after: held?.configuration)
    let judgedBy = try judgedBy(configuration, Self.routes(routes), replay, events, after: held)
    try judgedBy.routes.check(hosts: configuration.hosts)
    if let redeemer = judgedBy.redeemer {
      let listed = configuration.events.filter { $0.audience == redeemer.audience }
      try judgedBy.routes.check(events: listed.map(\.numbers))
    }
    return judgedBy
  }

  /// The gate's judging state under another configuration, with the rules that it has.
  func read(
    _ configuration: GateConfiguration, _ replay: any ReplayStore, _ events: EventPlace?,
    after held: JudgedBy
  ) throws -> JudgedBy {
    try judgedBy(configuration, held.routes, replay, events, after: held)
  }

  private func judgedBy(
    _ configuration: GateConfiguration, _ routes: RouteFile, _ replay: any ReplayStore,
    _ events: EventPlace?, after held: JudgedBy?
  ) throws -> JudgedBy {
    let own = try Self.own(ownSecrets, of: configuration.gate)
    let marks = keyFiles.map { FileMark($0) }
    let requests: RequestVerifier
    let desks: GateDesks
    let redeemer: EventVerifier?
    if let held, held.marks == marks, held.configuration.isOfSameKeys(as: configuration),
      events?.canFollow(configuration, held.redeemer) ?? true
    {
      (requests, desks, redeemer) = (held.requests, held.desks, held.redeemer)
    } else {
      let secrets = try keys.map { try GateSecretKey(Self.key(in: $0)) }
      redeemer = try events?.redeemer(configuration, own)
      requests = try RequestVerifier(
        configuration.identity(secrets), own: own, replay: replay,
        events: redeemer.map { [$0] } ?? [])
      desks = try GateDesks(own, replay: replay)
    }
    let gate = try ForwardGate(
      ForwardGate.Rules(
        configuration, routes, style, takesRouteNames: takesRouteNames,
        watchesAll: mode == .watch || configuration.isWatched, staleAfter: staleAfter,
        bypass: Self.bypass(bypass)), requests, own: own, desks: desks, limits: limits,
      redeemer: redeemer)
    requests.revoke(configuration.revocations)
    let page = PageHandler(
      try page.settings(), own: own, desks.challenges, desks.clearances, bounds)
    redeemer?.follow(configuration)
    return JudgedBy(
      configuration: configuration, routes: routes, marks: marks, requests: requests, desks: desks,
      gate: gate, page: page, redeemer: redeemer)
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
    try OwnSecretFiles.keys(of: gate, secrets)
  }

  private static func bypass(_ file: String?) throws -> BypassFile? {
    guard let file else { return nil }
    let bytes = try SecretFile.read(file, limit: BypassFile.byteCountMax)
    do throws(BypassFileError) { return try BypassFile(bytes) } catch {
      throw GateFailure("\(file), \(error)")
    }
  }

  static func routes(_ file: String) throws -> RouteFile {
    guard let bytes = try SmallFile.beginning(of: file, byteCount: RouteFile.byteCountMax + 1)
    else {
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
  let routes: RouteFile
  let marks: [FileMark]
  let requests: RequestVerifier
  let desks: GateDesks
  let gate: ForwardGate
  let page: PageHandler
  /// Redeems event tokens; nil if the gate redeems none.
  let redeemer: EventVerifier?
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
