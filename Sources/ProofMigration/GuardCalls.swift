// SPDX-License-Identifier: Apache-2.0

public import ProofApp
import ProofKit

/// The calls of a WAF's app protection, for apps that migrate: docs/MIGRATION.md has the table.
public struct RequestGuardCalls: Sendable {
  /// The attestor behind the calls.
  public let attestor: Attestor

  /// Takes an attestor; ``/ProofKit/Configuration`` has what the options were.
  public init(_ attestor: Attestor) { self.attestor = attestor }

  /// Prepares signatures. Retries while the network is bad.
  ///
  /// - Returns: 0, or the code of the failure, -1 to -12.
  public func initialize() async -> Int {
    do throws(AttestationError) {
      try await attestor.ready()
      return 0
    } catch {
      return error.initializationCode
    }
  }

  /// Binds the requests that follow to a user.
  ///
  /// - Returns: 0, or -10 for a name that has no bytes or more than 128.
  public func setAccount(_ name: String?) -> Int {
    do throws(GateError) {
      try attestor.setUser(name)
      return 0
    } catch {
      return error.initializationCode
    }
  }

  /// A signed request, or the text that stands in the place of a signature.
  public enum Signed<R: ProvableRequest>: Sendable {
    /// The request with the proof.
    case request(R)
    /// The text; empty for an error that such SDKs do not have.
    case text(String)
  }

  /// Signs a request. The account's form decides whether the body alone or the whole is signed.
  public func sign<R: ProvableRequest>(_ request: R) async -> Signed<R> {
    do throws(GateError) {
      return .request(try await attestor.client.guarded(request))
    } catch {
      return .text(error.signingText ?? "")
    }
  }

  /// Whether a response asks for a second look.
  ///
  /// - Parameters:
  ///   - cookies: The values of all `Set-Cookie` fields, merged as `name=value;name=value;`.
  ///   - body: The body.
  /// - Returns: Whether one of them has a challenge.
  public static func isChallenged(cookies: String, body: [UInt8]) -> Bool {
    ((try? GateClient.challenge(cookies: cookies, body: body)) ?? nil) != nil
  }
}

/// The calls of a challenge SDK, for apps that migrate.
public struct ChallengeCalls: Sendable {
  /// The attestor behind the calls.
  public let attestor: Attestor

  /// Takes an attestor.
  public init(_ attestor: Attestor) { self.attestor = attestor }

  /// Prepares attestations. Retries while the network is bad.
  ///
  /// - Throws: ``/ProofKit/AttestationError``; its `attestationNumber` is the number of such SDKs.
  public func start() async throws(AttestationError) { try await attestor.ready() }

  /// Sends a request, and answers a challenge.
  ///
  /// - Throws: ``/ProofKit/GateError``; its `attestationCode` is the number of such SDKs.
  public func attest(_ request: Request) async throws(GateError) -> Response {
    try await attestor.client.perform(request)
  }
}

/// The calls of an SDK of risk tokens, for apps that migrate.
public struct EventCalls: Sendable {
  /// The attestor behind the calls.
  public let attestor: Attestor

  /// Takes an attestor.
  public init(_ attestor: Attestor) { self.attestor = attestor }

  /// Prepares tokens, and calls back once: with nil as soon as tokens count, with an error only for what
  /// waiting does not mend.
  public func start(ready: @escaping @Sendable (AttestationError?) -> Void) {
    Task.detached {
      do throws(AttestationError) {
        try await attestor.ready()
        ready(nil)
      } catch {
        ready(error)
      }
    }
  }

  /// A token for an event; empty if the account does not list the event.
  public func info(_ event: EventID, account: String? = nil, data: [UInt8] = []) -> String {
    do throws(GateError) {
      return try attestor.eventToken(for: event, account: account, data: data).text
    } catch {
      return ""
    }
  }

  /// Answers a message of a page in a web view.
  public func bridge(
    _ message: String, to bridge: PageBridge, from frame: () -> PageBridge.Frame?
  ) -> String {
    bridge.reply(to: message, from: frame)
  }
}

extension AttestationError {
  /// The code of an initialisation, as a WAF's SDK has it: -1 to -12.
  public var initializationCode: Int { GateError.attestation(self).initializationCode }

  /// The number of an error of a challenge SDK: 1 to 9.
  public var attestationNumber: Int { GateError.attestation(self).attestationCode }
}
