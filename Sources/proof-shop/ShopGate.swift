// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import ProofBackend
import ProofModel
import ProofRequest

/// The gate of the shop's API: it judges by the configuration that the attestation service signed, without asking the service.
struct ShopGate: Sendable {
  /// The number of the shop's own secret, which would change with it.
  private static let secretNumber: UInt8 = 1

  let configuration: GateConfiguration
  private let requests: RequestVerifier
  private let events: EventVerifier?
  private let route: RequestRoute?

  /// Reads the files.
  ///
  /// - Parameters:
  ///   - options: Their names.
  ///   - host: The API's host, with its port.
  ///   - held: The configuration so far: an older one is refused.
  /// - Throws: If a file cannot be used; the error names it.
  init(_ options: ShopOptions, host: String, after held: GateConfiguration?) throws {
    configuration = try Self.configuration(options, after: held)
    let folder = ShopFolder(options.folder)
    var keys: [GateSecretKey] = []
    for file in options.keyFiles { keys.append(try GateSecretKey(ShopFolder.key(in: file))) }
    events = try Self.redeemer(configuration, options.audience, folder)
    let identity = try configuration.identity(keys)
    let secret = try GateOwnSecret(folder.ownSecret(), number: Self.secretNumber)
    requests = try RequestVerifier(
      identity, own: GateOwnKeys(of: identity.id, [secret]), replay: folder.requestStore(),
      events: events.map { [$0] } ?? [])
    requests.revoke(configuration.revocations)
    route = configuration.route(for: host)
  }

  private static func configuration(
    _ options: ShopOptions, after held: GateConfiguration?
  ) throws -> GateConfiguration {
    let bytes = try SecretFile.read(options.configuration, limit: 65_536)
    let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
    return try GateConfiguration(text, signedBy: options.fingerprint, after: held)
  }

  /// The judge of the audience's events; nil while the account lists none.
  private static func redeemer(
    _ configuration: GateConfiguration, _ audience: String, _ folder: ShopFolder
  ) throws -> EventVerifier? {
    guard configuration.events.contains(where: { $0.name == audience }) else { return nil }
    let beacons = try BeaconKey(
      from: folder.ownSecret(), number: secretNumber, of: configuration.gate)
    return try EventVerifier(
      by: configuration, for: audience, name: audience, beacons: beacons,
      replay: folder.eventStore())
  }

  /// Judges a request; nil while the account does not list the shop's host.
  func judge(_ request: ReceivedRequest) -> RequestJudgement? {
    route.map { requests.judge(request, on: $0) }
  }

  /// Judges an event token; nil while the account lists no events of the shop's audience.
  func judge(_ question: EventVerifier.Question) -> EventJudgement? { events?.judge(question) }
}
