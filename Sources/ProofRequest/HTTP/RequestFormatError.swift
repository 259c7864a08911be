// SPDX-License-Identifier: Apache-2.0

/// The part of a request that HTTP forbids.
public enum RequestFormatError: Error, Sendable, Hashable {
  /// The method is empty or has a character that a method cannot have.
  case badMethod(String)
  /// The URL has no scheme `http` or `https`, or no host.
  case badURL(String)
  /// The authority is no host with an optional port, in ASCII and without user name.
  case badAuthority(String)
  /// The target does not begin with a slash, or has a character that must be percent-encoded.
  case badTarget(String)
  /// The name or the value of the field is not allowed.
  case badField(String)
}

extension RequestFormatError: CustomStringConvertible {
  /// The part, its value and what to do.
  public var description: String {
    switch self {
    case .badMethod(let method): "method \(quoted(method)): is no HTTP method."
    case .badURL(let url):
      "URL \(quoted(url)): is no absolute http or https URL. Give scheme, host and path, encoded as "
        + "they will be sent."
    case .badAuthority(let authority):
      "authority \(quoted(authority)): is no host with an optional port. Give the host in ASCII "
        + "(Punycode) and leave out user name and password."
    case .badTarget(let target):
      "target \(quoted(target)): has to begin with a slash and to have visible ASCII only. "
        + "Percent-encode other characters, and leave the fragment out."
    case .badField(let name):
      "header field \(quoted(name)): its name or its value has a character that HTTP forbids."
    }
  }

  private func quoted(_ text: String) -> String {
    let shown = text.unicodeScalars.prefix(80).map { scalar in
      scalar.isASCII && scalar.value >= 0x20 && scalar.value != 0x7f ? String(scalar) : "·"
    }
    return "“" + shown.joined() + (text.unicodeScalars.count > 80 ? "…" : "") + "”"
  }
}
