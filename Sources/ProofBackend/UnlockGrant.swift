// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
public import ProofModel

/// A complete protected API: a measured app, used by a user that the backend knows, gets a
/// measurement token.
///
///     POST /unlock-grant?hardware=<32 hexadecimal digits>[&form=literal]
///     Proof-Token: <token>            or  Authorization: Bearer <token>
///
/// A token proves that an app passed. It proves nothing about the person: the backend authorises
/// the user by means of its own, such as the session of a sign-in.
///
/// The answer is the measurement token's bytes. A refusal is one word, which reveals nothing more;
/// the log gets the words for people.
public struct UnlockGrant: Sendable {
  /// The parts of a request that the API reads.
  public struct Request: Sendable {
    /// The method, in capitals.
    public var method: String
    /// The query's values.
    public var query: [String: String]
    /// The headers by lower-case name.
    public var headers: [String: String]

    /// A request.
    public init(method: String, query: [String: String], headers: [String: String]) {
      self.method = method
      self.query = query
      self.headers = headers
    }
  }

  /// The response to send.
  public struct Answer: Sendable, Hashable {
    /// The status.
    public var status: Int
    /// The headers.
    public var headers: [String: String]
    /// The body.
    public var body: [UInt8]
  }

  /// The person who uses the app, as the backend knows them.
  public struct User: Sendable, Hashable {
    /// The user's name in the backend.
    public var name: String

    /// Makes a user of this name.
    public init(_ name: String) { self.name = name }
  }

  /// A request for a token.
  public struct Application: Sendable {
    /// The service's statement about the app.
    public var app: MeasuredApp
    /// The app's user.
    public var user: User
    /// The hardware that the token would be for.
    public var hardware: HardwareID
    /// The form of the token.
    public var form: TokenForm
  }

  /// Identifies the sender of a request, by a credential of the backend's own; nil if the request
  /// has no valid one. The app's token is no such credential.
  public typealias Authorization = @Sendable (_ request: Request) -> User?

  /// The rights of a user with an app; nil for none.
  public typealias Permit = @Sendable (_ application: Application) -> GrantPermissions?

  private let verifier: TokenVerifier
  private let issuer: MeasurementTokenIssuer
  private let tokenHeader: String
  private let bindingHeader: String?
  private let authorization: Authorization
  private let permit: Permit
  private let log: @Sendable (String) -> Void

  /// Makes the API.
  ///
  /// - Parameters:
  ///   - verifier: Checks the tokens.
  ///   - issuer: Issues measurement tokens.
  ///   - tokenHeader: The header with the token; `Authorization: Bearer` is read where it is missing.
  ///   - bindingHeader: The header, in lower case, whose whole value tokens must be bound to; nil if
  ///     they need not be.
  ///   - log: Takes a line for people at each refusal. No line has a secret.
  ///   - authorization: Identifies the sender of a request.
  ///   - permit: Decides what that user may get.
  public init(
    _ verifier: TokenVerifier, _ issuer: MeasurementTokenIssuer,
    tokenHeader: String = "Proof-Token", bindingHeader: String? = nil,
    log: @escaping @Sendable (String) -> Void = { _ in },
    authorization: @escaping Authorization, permit: @escaping Permit
  ) {
    self.verifier = verifier
    self.issuer = issuer
    self.tokenHeader = tokenHeader.lowercased()
    self.bindingHeader = bindingHeader
    self.authorization = authorization
    self.permit = permit
    self.log = log
  }

  /// Answers a request.
  ///
  /// - Parameter request: A request.
  /// - Returns: 200 with a measurement token; 400 for a malformed request; 401 for a refused token
  ///   or an unknown user; 403 for hardware or rights that the user does not get; 405 for another
  ///   method than POST; 409 if the app must measure again; 503 if the backend is at fault.
  public func answer(_ request: Request) -> Answer {
    guard request.method == "POST" else { return refusal(405, "method") }
    let app: MeasuredApp
    do throws(TokenRefusal) {
      app = try verifier.measurement(of: token(in: request), boundTo: bound(in: request))
    } catch {
      log("unlock-grant: \(error)")
      return refusal(error.reason == .unavailable ? 503 : 401, error.reason.rawValue)
    }
    guard let user = authorization(request) else {
      log("unlock-grant: instance \(app.instance) came without a user who is known")
      return refusal(401, "user")
    }
    guard let id = hardware(in: request) else { return refusal(400, "hardware") }
    guard let form = form(in: request) else { return refusal(400, "form") }
    let application = Application(app: app, user: user, hardware: id, form: form)
    guard let permissions = permit(application) else {
      log("unlock-grant: instance \(app.instance) has no rights at \(id) for its user")
      return refusal(403, "rights")
    }
    do throws(BackendError) {
      let token = try issuer.issue(to: app, for: id, permissions, form: form)
      return Answer(
        status: 200,
        headers: ["content-type": "application/octet-stream", "cache-control": "no-store"],
        body: token.bytes)
    } catch {
      log("unlock-grant: \(error)")
      return refusal(of: error)
    }
  }

  private func token(in request: Request) -> String {
    if let token = request.headers[tokenHeader] { return token }
    let scheme = "Bearer "
    guard let value = request.headers["authorization"], value.hasPrefix(scheme) else { return "" }
    return String(value.dropFirst(scheme.count))
  }

  private func bound(in request: Request) throws(TokenRefusal) -> String? {
    guard let bindingHeader else { return nil }
    guard let value = request.headers[bindingHeader] else { throw TokenRefusal(.binding) }
    return value
  }

  private func hardware(in request: Request) -> HardwareID? {
    request.query["hardware"].flatMap(Hexadecimal.decode).flatMap { try? HardwareID($0) }
  }

  private func form(in request: Request) -> TokenForm? {
    switch request.query["form"] {
    case nil, "diversified": .diversified
    case "literal": .literal
    default: nil
    }
  }

  private func refusal(of error: BackendError) -> Answer {
    switch error {
    case .unknownHardware, .revokedHardware, .otherMode, .literalRefused, .revokedInstance:
      refusal(403, "hardware")
    case .superseded: refusal(409, "superseded")
    case .factorySecretMissing, .downgraded, .clockAhead, .refused, .storage, .damaged, .inUse:
      refusal(503, "unavailable")
    }
  }

  private func refusal(_ status: Int, _ word: String) -> Answer {
    var headers = ["content-type": "text/plain; charset=utf-8", "cache-control": "no-store"]
    if status == 401 { headers["www-authenticate"] = "Bearer error=\"invalid_token\"" }
    if status == 405 { headers["allow"] = "POST" }
    return Answer(status: status, headers: headers, body: Array((word + "\n").utf8))
  }
}
