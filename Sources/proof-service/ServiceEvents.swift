// SPDX-License-Identifier: Apache-2.0

import Console
import EventServing
import HTTPServing
import ProofBackend
import ProofModel
import ProofService
import Synchronization

/// The options of the service's listener for events, beside those that the gate's has.
struct ServiceEventOptions: Sendable {
  let listener: EventOptions
  let gate: String
  let audience: String
  let ownSecrets: [(number: UInt8, file: String)]

  private static let own = [
    Option("--event-gate", "NAME", help: "the gate whose apps make these tokens"),
    Option(
      "--event-own-secret", "NUMBER:FILE,…",
      help: "the gate's own secret: its beacons tell when a token was made"),
  ]
  static let known = EventOptions.knownWithDatabase + own

  /// The options; nil without `--events`.
  init?(_ options: Options, _ certificate: HTTPCertificateFiles?) throws(UsageError) {
    guard let listener = try EventOptions(options, certificate, hasDatabase: true) else {
      for option in Self.own where options.has(option.name) {
        throw UsageError("\(option.name) goes with --events")
      }
      return nil
    }
    self.listener = listener
    gate = try options.needed("--event-gate")
    audience = try options.needed("--event-audience")
    ownSecrets = try OwnSecretFiles.listed(options, "--event-own-secret")
  }
}

/// Redeems the event tokens of one audience of a gate by the account's newest rules.
///
/// It learns the keys of an installation when the service issues a gate token to it.
final class ServiceEvents: Sendable {
  private let options: ServiceEventOptions
  private let management: Management
  private let gate: GateID
  private let verifier: EventVerifier
  private let log: HTTPLog
  /// The account's revision that the redeemer judges by.
  private let revision: Mutex<UInt64>

  init(_ options: ServiceEventOptions, _ account: Account, log: HTTPLog) throws {
    self.options = options
    self.log = log
    management = Management(account)
    // Read the revision first: a change meanwhile is then read once more.
    let newest = try account.store.revision()
    let configuration = try Self.configuration(options, management)
    gate = configuration.gate
    verifier = try options.listener.place(
      in: account.store as? any RedemptionPlace, configuration
    ).redeemer(configuration, OwnSecretFiles.keys(of: gate, options.ownSecrets))
    revision = Mutex(newest)
  }

  /// The redeemers' part alone: the gate's whole configuration would count its next keys as handed out to the gate.
  private static func configuration(
    _ options: ServiceEventOptions, _ management: Management
  ) throws -> GateConfiguration {
    let initial = try management.initialConfiguration()
    guard let fingerprint = initial.split(separator: "#").last.map({ Base64.decode(String($0)) }),
      let fingerprint, let digest = try? Digest(fingerprint)
    else { throw EventFailure("the account's initial configuration has no fingerprint") }
    return try GateConfiguration(
      management.gateConfiguration(options.gate, audience: options.audience), signedBy: digest)
  }

  /// Learns the keys of an installation of the gate.
  func admit(_ grant: GateGrant) {
    guard grant.gate == gate else { return }
    verifier.admit(grant)
  }

  /// The redeemer by the account's newest rules; nil if the account lists no event of the audience, or cannot be read.
  func redeemer() -> EventVerifier? {
    revision.withLock { revision in
      do {
        let newest = try management.account.store.revision()
        guard newest != revision else { return verifier }
        let configuration = try Self.configuration(options, management)
        // A gate that was removed and added again has other keys: start the service anew for it.
        guard configuration.gate == gate else {
          throw EventFailure("the gate \(options.gate) is another one than at the start")
        }
        verifier.follow(configuration)
        revision = newest
        return verifier
      } catch {
        log.note("events not judged", [("reason", .text("\(error)"))])
        return nil
      }
    }
  }
}
