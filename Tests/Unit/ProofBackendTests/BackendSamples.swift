// SPDX-License-Identifier: Apache-2.0

import FolderModel
@testable import ProofBackend
import ProofJOSE
import ProofModel

/// A service's token, a backend and hardware, all of them real.
struct Backend {
  static let now: UnixTime = 1_800_000_000

  let sealing: JSONWebKey
  let registry = Registry()
  let ledger: IssueLedgerFile
  let issuerKey = IssuerKey.random()
  let keys: HardwareKeys
  let proofKey: MeasurementProofKey
  let measurement: Measurement

  // `drawn`: the factory secret that the hardware has; `features`: those that the registry knows.
  init(
    literal: Bool = false, mode: Mode = .production, drawn: [UInt8]? = nil,
    features: HardwareFeatures = []
  ) throws {
    sealing = try JSONWebKey.random(.direct, id: "m1")
    ledger = try IssueLedgerFile(ModelFolder())
    let id = HardwareID.random()
    keys = try HardwareKeys(
      id: id, secretKey: SecretBytes.random(count: 32), mode: mode,
      issuers: [issuerKey.publicKey], allowsLiteralTokens: literal,
      factory: drawn.map { try FactorySecret(of: id, drawn: SecretBytes(copying: $0.span)) })
    proofKey = try MeasurementProofKey(
      SecretBytes(copying: [UInt8](1...16).span), mode: .production)
    measurement = try Measurement(
      integrity: SecretBytes(copying: [UInt8](31...62).span),
      device: SecretBytes(copying: [UInt8](101...132).span),
      deviceKey: SecretBytes(copying: [UInt8](201...216).span))
    registry.all[id] = RegisteredHardware(
      keys.identity, mode: mode, allowsLiteral: literal, features: features)
  }

  var hardware: HardwareID { keys.identity.id }
  /// The features of hardware with a factory secret.
  static let withSecret: HardwareFeatures = [.tokenVersionTwo, .factorySecret]
  static let instanceBytes = [UInt8](repeating: 7, count: 16)

  /// Claims of the service; a test changes them before they are sealed.
  func claims(generation: Int64 = 3) throws -> Claims {
    var claims = Claims(expiry: Self.now + 300)
    claims.instance = Self.instanceBytes
    claims.measurement = try MeasurementClaims(
      integrityMeasurement: [UInt8](31...62).span, deviceMeasurement: [UInt8](101...132).span,
      proofKey: [UInt8](1...16).span, deviceKey: [UInt8](201...216).span)
    claims.others = ["mgn": .number(JSONNumber(generation)), "mmd": "production"]
    return claims
  }

  func sealed(_ claims: Claims) throws -> String { try JWEEncrypter(sealing).seal(claims) }

  static func rules(at time: UnixTime = now) -> TokenVerifier.Rules {
    var rules = TokenVerifier.Rules()
    rules.clock = .fixed(time)
    return rules
  }

  func verifier(_ rules: TokenVerifier.Rules = rules()) throws -> TokenVerifier {
    try TokenVerifier([sealing], rules: rules)
  }

  func app(generation: Int64 = 3) throws -> MeasuredApp {
    try verifier().measurement(of: sealed(claims(generation: generation)))
  }

  var issuer: MeasurementTokenIssuer {
    MeasurementTokenIssuer(
      issuerKey, for: registry, ledger: ledger, clock: .fixed(Self.now))
  }

  static let permissions = GrantPermissions(
    CommandClasses(rawValue: 3), deviceClasses: CommandClasses(rawValue: 1), attempts: 4,
    uses: .limited(9), lifetime: 60)
}

/// A registry that a test changes. It does so before it asks, and from one thread.
final class Registry: HardwareRegistry, @unchecked Sendable {
  var all: [HardwareID: RegisteredHardware] = [:]
  var secrets: [HardwareID: FactorySecret] = [:]

  func hardware(_ id: HardwareID) throws(BackendError) -> RegisteredHardware? { all[id] }

  func factorySecret(of hardware: RegisteredHardware) throws(BackendError) -> FactorySecret? {
    secrets[hardware.identity.id]
  }
}

/// A registry of a backend that has no factory secrets.
struct PlainRegistry: HardwareRegistry {
  let hardware: RegisteredHardware

  func hardware(_ id: HardwareID) throws(BackendError) -> RegisteredHardware? { hardware }
}

extension IssueLedger {
  /// Notes a token of suite one.
  func noteIssue(
    of generation: UInt32, to pair: IssuePair, at time: UnixTime
  ) throws(BackendError) {
    try noteIssue(of: generation, base: generation, to: pair, by: .one, at: time)
  }
}
