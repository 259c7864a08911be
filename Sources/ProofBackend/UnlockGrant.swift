// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
public import ProofModel

/// A complete protected API: a measured app, used by a user that the backend knows, gets a
/// measurement token.
///
///     POST /unlock-grant?hardware=<32 hexadecimal digits>[&form=literal]
///     Proof-Token: <token>            or  Authorization: Bearer <token>
///
/// The body may have the tokens of measurements to come from the same fetch, at most three, one a
/// line. The answer then has one measurement token more for each of them, in this order: 288 zero
/// bytes where the hardware takes no upcoming token, or the service's token is not for this API.
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
    /// The body: nothing, or the tokens of measurements to come.
    public var body: [UInt8]

    /// A request.
    public init(
      method: String, query: [String: String], headers: [String: String], body: [UInt8] = []
    ) {
      self.method = method
      self.query = query
      self.headers = headers
      self.body = body
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
  ///   - log: Takes a line for people at each refusal and each token issued, with its reference. No line has a
  ///     secret.
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
  /// A refusal has a random reference in `Proof-Reference`, which its log line names. A token's reference is that
  /// which app and hardware log when it is presented, such as `dbe6593c-t9f0a11c2`.
  ///
  /// - Returns: 200 with a measurement token; 400 for a malformed request; 401 for a refused token
  ///   or an unknown user; 403 for hardware or rights that the user does not get; 405 for another
  ///   method than POST; 409 if the app must measure again; 503 if the backend is at fault.
  public func answer(_ request: Request) -> Answer {
    let reference = Hexadecimal.encode(RandomSource.bytes(8))
    let refusal = { (status: Int, word: String, cause: String) in
      log("unlock-grant: ref=\(reference) \(cause)")
      return Self.refusal(status, word, reference)
    }
    guard request.method == "POST" else {
      return refusal(405, "method", "the method is not POST")
    }
    let app: MeasuredApp
    do throws(TokenRefusal) {
      app = try verifier.measurement(of: token(in: request), boundTo: bound(in: request))
    } catch {
      return refusal(
        error.reason == .unavailable ? 503 : 401, error.reason.rawValue, "\(error.code): \(error)")
    }
    let upcoming: [MeasuredApp?]
    do throws(TokenRefusal) {
      guard let tokens = upcomingTokens(in: request) else {
        return refusal(400, "body", "the body has no upcoming tokens of this form")
      }
      upcoming = try measurements(of: tokens, boundTo: bound(in: request))
    } catch {
      return refusal(
        error.reason == .unavailable ? 503 : 401, error.reason.rawValue,
        "upcoming: \(error.code): \(error)")
    }
    guard let user = authorization(request) else {
      return refusal(401, "user", "instance \(app.instance) came without a user who is known")
    }
    guard let id = hardware(in: request) else {
      return refusal(400, "hardware", "the request names no hardware")
    }
    guard let form = form(in: request), form == .diversified || upcoming.isEmpty else {
      return refusal(400, "form", "the request names no form that is known, or upcoming literals")
    }
    let application = Application(app: app, user: user, hardware: id, form: form)
    guard let permissions = permit(application) else {
      return refusal(
        403, "rights", "instance \(app.instance) has no rights at \(id) for its user")
    }
    do throws(BackendError) {
      return Answer(
        status: 200,
        headers: ["content-type": "application/octet-stream", "cache-control": "no-store"],
        body: try tokens(for: app, upcoming, at: id, permissions, form))
    } catch {
      let (status, word) = Self.status(of: error)
      return refusal(status, word, "\(error.code): \(error)")
    }
  }

  /// The most upcoming tokens that one request has.
  static let upcomingMax = 3

  private func tokens(
    for app: MeasuredApp, _ upcoming: [MeasuredApp?], at id: HardwareID,
    _ permissions: GrantPermissions, _ form: TokenForm
  ) throws(BackendError) -> [UInt8] {
    if upcoming.isEmpty {
      let token = try issuer.issue(to: app, for: id, permissions, form: form)
      note(token, of: app)
      return token.bytes
    }
    let tokens = try issuer.issue(
      to: app, upcoming: upcoming.compactMap(\.self), for: id, permissions)
    note(tokens.present, of: app)
    for token in tokens.upcoming.compactMap(\.self) { note(token, of: app) }
    let none = [UInt8](repeating: 0, count: MeasurementToken.byteCount)
    var made = tokens.upcoming.makeIterator()
    return tokens.present.bytes
      + upcoming.flatMap { $0 == nil ? none : (made.next() ?? nil)?.bytes ?? none }
  }

  private func note(_ token: MeasurementToken, of app: MeasuredApp) {
    log("unlock-grant: ref=\(HardwareReference.of(token)) issued to instance \(app.instance)")
  }

  /// The tokens in the body; nil if it is none of this form.
  private func upcomingTokens(in request: Request) -> [String]? {
    guard let text = String(validating: request.body, as: UTF8.self) else { return nil }
    let lines = text.split(separator: "\n").map(String.init)
    return lines.count <= Self.upcomingMax ? lines : nil
  }

  private func measurements(
    of tokens: [String], boundTo text: String?
  ) throws(TokenRefusal) -> [MeasuredApp?] {
    var apps: [MeasuredApp?] = []
    for token in tokens {
      do throws(TokenRefusal) {
        apps.append(try verifier.measurement(of: token, boundTo: text))
      } catch {
        guard error.reason != .unavailable else { throw error }
        // An app without an update gets a decoy in its place, and does not know it.
        log("unlock-grant: upcoming: \(error)")
        apps.append(nil)
      }
    }
    return apps
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

  private static func status(of error: BackendError) -> (Int, String) {
    switch error {
    case .unknownHardware, .revokedHardware, .otherMode, .literalRefused, .revokedInstance,
      .upcomingRefused:
      (403, "hardware")
    case .otherFetch: (409, "fetch")
    case .superseded: (409, "superseded")
    case .factorySecretMissing, .downgraded, .clockAhead, .refused, .storage, .damaged, .inUse:
      (503, "unavailable")
    }
  }

  private static func refusal(_ status: Int, _ word: String, _ reference: String) -> Answer {
    var headers = [
      "content-type": "text/plain; charset=utf-8", "cache-control": "no-store",
      "proof-reference": reference,
    ]
    if status == 401 { headers["www-authenticate"] = "Bearer error=\"invalid_token\"" }
    if status == 405 { headers["allow"] = "POST" }
    return Answer(status: status, headers: headers, body: Array((word + "\n").utf8))
  }
}
