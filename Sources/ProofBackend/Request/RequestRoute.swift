// SPDX-License-Identifier: Apache-2.0

public import ProofModel
public import ProofRequest

/// The forms of a request proof.
public struct RequestForms: OptionSet, Sendable, Hashable {
  /// The bits.
  public let rawValue: UInt8
  /// Takes bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// RFC 9421 (``/ProofRequest/StandardForm``).
  public static let standard = RequestForms(rawValue: 1)
  /// One header of 88 characters that covers method, scheme, authority, target, body and `Authorization`.
  public static let compact = RequestForms(rawValue: 2)
  /// The same header over the body alone, for migration: method, URL and authorization are not covered.
  public static let bodyOnly = RequestForms(rawValue: 4)
}

/// The worth of a proof that carries no word of the gate on the time.
public enum Unanchored: Sendable, Hashable {
  /// It passes.
  case passes
  /// It passes for methods that promise to change nothing.
  case passesForSafeMethods
  /// It is refused.
  case refused
}

/// Names of the header fields that carry proofs, in lower case.
public struct RequestFields: Sendable, Hashable {
  /// The compact form and the body-only form, such as `wtoken` for clients of another vendor.
  public var compact = "proof"
  /// The gate token in base64url.
  public var token = "proof-token"
  /// The field that carries the digest which a proof of the compact form covers, in base64url; nil if the proof alone
  /// counts. With it a request must have the field once, and a mismatch says which of URL and body differs.
  public var digest: String?

  /// The names without changes.
  public init() {}
}

/// The rules of one route of an API.
public struct RequestRoute: Sendable {
  /// The scheme that clients use, also where a proxy ends TLS.
  public var scheme: RequestHead.Scheme
  /// Host, and port unless it is the scheme's own. It comes from here and never from a header.
  public var authority: String
  /// The forms that count. A request with two proofs is refused.
  public var forms: RequestForms = [.standard, .compact]
  /// Additions to the standard form, and spellings of targets that all forms allow.
  public var standard = StandardForm()
  /// Names of header fields.
  public var fields = RequestFields()
  /// Seconds before and after the moment of a proof.
  public var window: UInt32 = CompactToken.window
  /// The worth of a compact proof without a beacon of the last 15 minutes. A proof of the standard form counts by
  /// `created`, unless this is ``Unanchored/refused``.
  public var unanchored = Unanchored.passesForSafeMethods
  /// The oldest measurement in seconds behind a compact proof; 255 for any.
  public var measuredMax: UInt8 = 255
  /// Whether the request must also have a signature by the installation's own key.
  public var needsInstallationKey = false

  /// The rules of a route.
  ///
  /// - Parameters:
  ///   - authority: Host, and port unless it is the scheme's own.
  ///   - scheme: The scheme that clients use.
  public init(_ authority: String, scheme: RequestHead.Scheme = .https) {
    self.authority = authority
    self.scheme = scheme
  }
}

/// A request as an API has received it.
public struct ReceivedRequest: Sendable {
  /// The method in its own case.
  public var method: String
  /// Path and query as they were sent: never decoded.
  public var target: String
  /// The header fields.
  public var fields: HeaderFields
  /// SHA-256 of the body's coded bytes; nil if it was not read. The verdict then has the digest to compare it with.
  public var body: Digest?
  /// The client's address, as the connection or a trusted proxy tells it.
  public var address: String?
  /// The digest of the user account that the API has authenticated; nil for none. Make it with `GateAccountKey`.
  public var account: Digest?
  /// The installation's public key, from a measurement token or the account's records; nil if it is not known.
  public var installationKey: InstallationPoint?
  /// Whether the client solved a puzzle for the opening of its gate token.
  package var hasWorked = false
  /// The head, where a gate has read it before. Method, target and fields are its own.
  package var head: RequestHead?

  /// Describes a request.
  ///
  /// - Parameters:
  ///   - method: The method in its own case.
  ///   - target: Path and query as they were sent.
  ///   - fields: The header fields.
  ///   - body: SHA-256 of the body's coded bytes; nil if it was not read.
  ///   - address: The client's address.
  public init(
    method: String, target: String, fields: HeaderFields, body: Digest?, address: String? = nil
  ) {
    self.method = method
    self.target = target
    self.fields = fields
    self.body = body
    self.address = address
  }
}

/// A request that counts, and the facts about its sender.
public struct RequestVerdict: Sendable, Hashable {
  /// The app installation, as its gate token describes it.
  public let facts: GateFacts
  /// The form of the proof.
  public let form: RequestForms
  /// The moment of the proof: by the gate's word if it carries one, else by the app's clock.
  public let created: UnixTime
  /// Whether a word of this gate on the time vouches for the moment.
  public let isAnchored: Bool
  /// Seconds since the measurement, 255 for more; nil in the standard form, which does not tell it.
  public let measured: UInt8?
  /// Whether the app's process was younger than two seconds; nil in the standard form.
  public let isYoung: Bool?
  /// The body's digest that the proof covers; nil for a request without a body.
  public let body: Digest?
  /// Whether the body's digest was compared. If not, compare SHA-256 of the coded bytes with ``body`` before use.
  public let isBodyChecked: Bool
  /// Whether the proof was looked up in the replay store: false only for safe methods while it is out of reach.
  public let isReplayChecked: Bool
  /// Whether the installation's own key signed the request, too.
  public let isSignedByInstallation: Bool
}
