// SPDX-License-Identifier: Apache-2.0

import Foundation
import LinkBench
import ProofBackend
import ProofJOSE
import ProofLink
import ProofModel
import RealProcess
import Testing

/// Tokens of the backend's own issuer at the hardware's own process: with a factory secret and without.
@Suite("The issuer's tokens at the hardware's process", .serialized)
struct IssuerProcessTests {
  private static let open = try! Command(Array("open".utf8), class: CommandClass(1))
  private static let drawn = [UInt8](60...91)
  /// Only a hang lasts as long.
  private static let ample = Duration.seconds(60)
  private let issuer = IssuerKey.random()

  private struct Registry: HardwareRegistry {
    let hardware: RegisteredHardware
    let secret: FactorySecret?

    func hardware(_ id: HardwareID) throws(BackendError) -> RegisteredHardware? { hardware }

    func factorySecret(of hardware: RegisteredHardware) throws(BackendError) -> FactorySecret? {
      secret
    }
  }

  /// A measured app of the service, and what it shares with the hardware.
  private func app(
    at hardware: HardwareID, generation: Int64 = 1
  ) throws -> (MeasuredApp, HardwareSecrets) {
    var claims = Claims(expiry: UnixTime(seconds: 4_000_000_000))
    claims.instance = [UInt8](repeating: 7, count: 16)
    claims.measurement = try MeasurementClaims(
      integrityMeasurement: [UInt8](31...62).span, deviceMeasurement: [UInt8](101...132).span,
      proofKey: [UInt8](1...16).span, deviceKey: [UInt8](201...216).span)
    claims.others = ["mgn": .number(JSONNumber(generation)), "mmd": "production"]
    let measurement = try Measurement(
      integrity: SecretBytes(copying: [UInt8](31...62).span),
      device: SecretBytes(copying: [UInt8](101...132).span),
      deviceKey: SecretBytes(copying: [UInt8](201...216).span))
    let key = try MeasurementProofKey(
      SecretBytes(copying: [UInt8](1...16).span), mode: .production)
    return (try MeasuredApp(claims), measurement.secrets(for: hardware, with: key))
  }

  private func token(
    _ app: MeasuredApp, at hardware: RealHardware, _ features: HardwareFeatures,
    _ drawn: [UInt8]?, ledger: String
  ) throws -> MeasurementToken {
    let id = hardware.identity.id
    let registry = Registry(
      hardware: RegisteredHardware(hardware.identity, mode: .production, features: features),
      secret: try drawn.map { try FactorySecret(of: id, drawn: SecretBytes(copying: $0.span)) })
    return try MeasurementTokenIssuer(
      issuer, for: registry, ledger: IssueLedgerFile(folder: hardware.path(ledger))
    ).issue(to: app, for: id, GrantPermissions(.all, uses: .limited(100)))
  }

  @Test(
    "hardware with a factory secret opens what is sealed with it, and no token of another suite",
    arguments: [false, true])
  func meets(_ hasSecret: Bool) async throws {
    let hardware = try await RealHardware(
      trusting: issuer, drawn: hasSecret ? Self.drawn : nil)
    defer { hardware.scrap() }
    let known: HardwareFeatures = hasSecret ? .known : .tokenVersionTwo
    #expect(hardware.features == (hasSecret ? "0x63" : "0x43"))
    let process = try await hardware.powerOn()
    let (app, secrets) = try app(at: hardware.identity.id)
    let transport = PipeTransport(.socket(hardware.path("socket")))
    func door(_ token: MeasurementToken, as instance: InstanceID) throws -> HardwareConnection {
      HardwareConnection(
        to: try Bench.pair(token, at: hardware.identity.id, of: instance),
        proving: BenchProver(secrets: secrets), over: transport, memory: HeardMemory())
    }
    // Right first: it is the one that another must not replace.
    let right = try token(app, at: hardware, known, Self.drawn, ledger: "ledger")
    let connection = try door(right, as: app.instance)
    #expect(try await connection.send(Self.open, within: Self.ample).verdict == .accepted)
    await connection.disconnect()
    var wrong: [MeasurementToken] = []
    if hasSecret {
      wrong.append(try token(app, at: hardware, [], nil, ledger: "old"))
      wrong.append(try token(app, at: hardware, .tokenVersionTwo, nil, ledger: "two"))
      wrong.append(try token(app, at: hardware, .known, [UInt8](61...92), ledger: "other"))
      // The ledger of the right token knows the hardware.
      #expect(throws: BackendError.downgraded(hardware.identity.id)) {
        try token(app, at: hardware, [], nil, ledger: "ledger")
      }
    } else {
      wrong.append(try token(app, at: hardware, .known, Self.drawn, ledger: "new"))
      // Old and new tokens of suite 1 open hardware without a factory secret.
      let (later, _) = try self.app(at: hardware.identity.id, generation: 2)
      let old = try door(
        token(later, at: hardware, [], nil, ledger: "old"), as: app.instance)
      #expect(try await old.send(Self.open, within: Self.ample).verdict == .accepted)
      await old.disconnect()
    }
    for token in wrong {
      let stranger = try door(token, as: InstanceID([UInt8](repeating: 8, count: 16)))
      await #expect(throws: LinkError.self) {
        try await stranger.send(Self.open, within: Self.ample)
      }
      await stranger.disconnect()
    }
    await process.end()
    let verdicts = process.lines.filter { $0.contains(": token of") }
    func count(_ verdict: String) -> Int { verdicts.filter { $0.contains(verdict) }.count }
    #expect(count("held") == (hasSecret ? 1 : 2), "\(verdicts)")
    #expect(count("wrong mode") == (hasSecret ? 2 : 0), "\(verdicts)")
    #expect(count("not for me") == (hasSecret ? 1 : 0), "\(verdicts)")
    #expect(count("too new") == (hasSecret ? 0 : 1), "\(verdicts)")
    #expect(!process.lines.contains { $0.contains(Hexadecimal.encode(Self.drawn.prefix(8))) })
  }
}
