// SPDX-License-Identifier: Apache-2.0

public import ProofRequest

/// The text of a clearance as a request carries it: the header field `Proof-Clearance`, or the cookie
/// `__Host-proof-clearance`.
public struct ClearanceField: Sendable, Hashable {
  /// The name of the header field, in lower case.
  public static let headerName = "proof-clearance"
  /// The name of the cookie. Browsers take this prefix only with `Secure`, with `Path=/` and without a domain.
  public static let cookieName = "__Host-proof-clearance"

  /// The place where the text stood.
  public enum Place: Sendable, Hashable {
    /// The header field.
    case header
    /// The cookie.
    case cookie
  }

  /// The text.
  public let text: String
  /// The place where it stood.
  public let place: Place

  /// A text and its place.
  public init(_ text: String, in place: Place) {
    self.text = text
    self.place = place
  }

  /// Finds the clearance of a request; nil if it has none.
  ///
  /// - Parameter fields: The request's header fields.
  /// - Throws: ``ClearanceRefusal/repeated`` if header and cookie, or one of them twice, carry one;
  ///   ``ClearanceRefusal/cookies`` if the cookies of a request with a clearance are malformed.
  public init?(in fields: HeaderFields) throws(ClearanceRefusal) {
    var found = fields.values(of: Self.headerName).map { ClearanceField($0, in: .header) }
    for line in fields.values(of: "cookie") {
      guard line.utf8.count <= 16_384 else { throw .cookies }
      found += try Self.values(in: line).map { ClearanceField($0, in: .cookie) }
    }
    guard found.count <= 1 else { throw .repeated }
    guard let first = found.first else { return nil }
    self = first
  }

  /// The value of a `Set-Cookie` field.
  ///
  /// - Parameters:
  ///   - text: A clearance of a session.
  ///   - seconds: How long the browser keeps it.
  /// - Returns: The value. Script cannot read the cookie, and other sites send it with top-level navigations alone.
  public static func setCookie(_ text: String, for seconds: UInt32) -> String {
    "\(cookieName)=\(text); Path=/; Max-Age=\(seconds); Secure; HttpOnly; SameSite=Lax"
  }

  /// The values of our cookie in one line. Names of cookies are compared byte by byte; a quoted value is none of ours.
  private static func values(in line: String) throws(ClearanceRefusal) -> [String] {
    var values: [String] = []
    for pair in line.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false) {
      let trimmed = pair.drop { $0 == UInt8(ascii: " ") }
      guard let equals = trimmed.firstIndex(of: UInt8(ascii: "=")) else {
        // A server that reads `name` alone as a cookie must not see another one than this gate.
        if trimmed.elementsEqual(cookieName.utf8) { throw .cookies }
        continue
      }
      let name = trimmed[..<equals]
      if name.elementsEqual(cookieName.utf8) {
        values.append(String(Substring(trimmed[trimmed.index(after: equals)...])))
      } else if isAlike(name) {
        throw .cookies
      }
    }
    return values
  }

  /// Whether a name differs from ours in case or in white space alone: some servers read it as ours.
  private static func isAlike(_ name: Substring.UTF8View) -> Bool {
    let plain = name.filter { $0 > 0x20 }.map { byte in
      (0x41...0x5a).contains(byte) ? byte + 0x20 : byte
    }
    return plain.elementsEqual(cookieName.lowercased().utf8)
  }
}
