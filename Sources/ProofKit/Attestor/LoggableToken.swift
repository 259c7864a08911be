// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

extension FetchResult {
  /// The token in a form that may be logged: always a JSON object.
  ///
  /// A signed token gives its claims and, as `sip`, the first six characters of its signature:
  /// enough to check it with the account's secret, too few to use it. A failed fetch gives its
  /// status under `error`. An encrypted token cannot be read here and gives an `error` too.
  package var loggableToken: String {
    guard status == .success else { return Self.loggable(error: status.description) }
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    if parts.count == 5 { return Self.loggable(error: "encrypted token") }
    guard parts.count == 3, let payload = Base64.decode(String(parts[1]), .url),
      let claims = try? JSONText.parse(payload), let members = claims.members,
      members["sip"] == nil, let text = String(validating: payload, as: UTF8.self),
      let end = text.lastIndex(of: "}")
    else { return Self.loggable(error: token.isEmpty ? "no token" : "unreadable token") }
    // Keep the claims byte for byte as the service wrote them; add one member before the last
    // brace.
    let separator = members.isEmpty ? "" : ","
    return text[..<end] + separator + "\"sip\":" + JSONText.quote(String(parts[2].prefix(6))) + "}"
  }

  private static func loggable(error: String) -> String {
    "{\"error\":" + JSONText.quote(error) + "}"
  }
}
