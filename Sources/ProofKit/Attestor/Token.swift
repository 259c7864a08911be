// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A token for one API. `description` is safe to log; ``text`` is not.
///
/// Ask for a token before each request: the SDK knows whether the last one still counts.
public struct Token: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// The value of the header `Authorization: Bearer …`.
  public let text: String
  /// A short code for the user to tell support, if the account shows it. Only the service can read it.
  public let attestationCode: String?
  /// The reasons of a failed attestation, if the account shows them; empty otherwise.
  public let rejectionReasons: [String]
  /// The claims for a log.
  private let loggable: String
  private let end: ContinuousClock.Instant

  init(_ result: FetchResult, at now: Duration) {
    text = result.token
    attestationCode = result.arc.isEmpty ? nil : result.arc
    rejectionReasons = AttestationError.list(result.rejectionReasons)
    loggable = result.loggableToken
    end = .now + max(.zero, (result.tokenEnd ?? now) - now)
  }

  /// How long it lives from now on, on a clock that is never set.
  public var timeLeft: Duration { max(.zero, ContinuousClock.now.duration(to: end)) }

  /// A JSON object: the claims of a signed token and, as `sip`, six characters of its signature.
  public var description: String { loggable }

  /// Shows only the description.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// A token with the measurement that it carries. All members are there, or there is no such value.
public struct MeasuredToken: Sendable, Hashable {
  /// The token, for the API that issues measurement tokens.
  public let token: Token
  /// The configuration of the measurement, to be stored with what the API issues.
  public let config: MeasurementConfig
  /// The installation that was measured. Proofs name it.
  public let instance: InstanceID
  /// The pairs for measurements to come that the service predicted: for the app's next build, for the
  /// system's next state, for both.
  package let upcoming: [UpcomingPair]
  /// The generation of configuration and measurement token.
  public var generation: UInt32 { config.generation }
}

/// HMAC-SHA-256 of a message under the account's message key.
public struct MessageSignature: Sendable, Hashable, CustomStringConvertible {
  /// 32 bytes.
  public let bytes: [UInt8]
  /// Base64.
  public var description: String { Base64.encode(bytes) }
}

extension Attestor {
  /// Returns a token for an API: the last one while it counts and the app's environment is unchanged,
  /// else a new one by a fetch.
  ///
  /// Calls for one host at the same time share a fetch. An app that fails its attestation gets a token
  /// that no backend accepts, and cannot tell.
  ///
  /// - Parameters:
  ///   - host: The API's host, or an `https` URL of it.
  ///   - data: The token's claim `pay` becomes its SHA-256; nil for no binding.
  /// - Returns: The token.
  /// - Throws: ``AttestationError``. ``AttestationError/mayProceedWithoutToken`` tells whether the API
  ///   may be called nevertheless.
  public func token(
    for host: String, boundTo data: [UInt8]? = nil
  ) async throws(AttestationError) -> Token {
    guard !host.hasSuffix(APIDomain.measurementSuffix) else {
      throw AttestationError(.badURL, "\(host): ask for a measured token by measuredToken(for:)")
    }
    let result = try await outcome(FetchRequest.token(host, boundTo: data))
    return Token(result, at: surroundings.clock.uptime())
  }

  /// Measures the app and returns a token that carries the measurement, for the API that issues
  /// measurement tokens. Each call measures and fetches. ``enrol(_:at:for:)`` calls it by itself.
  ///
  /// - Parameter host: The API's host, or an `https` URL of it.
  /// - Returns: The token and its measurement.
  /// - Throws: ``AttestationError``.
  public func measuredToken(for host: String) async throws(AttestationError) -> MeasuredToken {
    let result = try await outcome(FetchRequest.measurement(host))
    guard let config = result.measurementConfig, let instance = result.instance else {
      throw AttestationError(.noService, "the answer has no measurement")
    }
    return MeasuredToken(
      token: Token(result, at: surroundings.clock.uptime()), config: config, instance: instance,
      upcoming: result.upcoming)
  }

  /// Returns a token with claims of the app's own.
  ///
  /// - Parameter claims: A JSON object of at most 40,000 bytes, nested at most 16 deep. `iss`, `sub`,
  ///   `aud`, `nbf`, `iat` and `jti` may be among its members where the account allows them.
  /// - Returns: The token.
  /// - Throws: ``AttestationError``; ``AttestationError/Reason/rejected`` for an app that failed.
  public func customToken(claims: String) async throws(AttestationError) -> Token {
    Token(try await outcome(FetchRequest.customJWT(claims)), at: surroundings.clock.uptime())
  }

  /// Signs a message with the account's message key, which proves to an API that the message comes
  /// from an app that passed. Needs a token that was fetched before.
  ///
  /// All apps of the account have the same key: put the token into the message, because it identifies
  /// the app and limits how long the signature can be replayed. An app that failed its attestation has
  /// a random key, and cannot tell.
  ///
  /// - Parameter message: The message.
  /// - Returns: The signature.
  /// - Throws: ``AttestationError``: ``AttestationError/Reason/noMessageKey``.
  public func signature(of message: [UInt8]) throws(AttestationError) -> MessageSignature {
    guard let key = state.withLock({ $0.session?.messageKey(for: message) }) else {
      throw AttestationError(.noMessageKey)
    }
    return MessageSignature(bytes: key.signature(of: message))
  }

  /// Fetches, and throws what did not succeed.
  func outcome(_ request: FetchRequest.Checked) async throws(AttestationError) -> FetchResult {
    let result: FetchResult
    do throws(CancellationError) {
      result = try await fetch(request)
    } catch {
      throw AttestationError(.cancelled)
    }
    guard result.status == .success else { throw AttestationError(result) }
    return result
  }
}
