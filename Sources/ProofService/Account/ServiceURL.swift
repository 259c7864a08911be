// SPDX-License-Identifier: Apache-2.0

/// The service's address.
enum ServiceURL {
  /// `https://HOST` or `https://HOST:PORT`; `http` only for the machine itself.
  static func checked(_ url: String) throws(ServiceError) -> String {
    var url = url
    while url.hasSuffix("/") { url.removeLast() }
    let refusal = ServiceError.invalid(
      "address of the service", value: String(url.prefix(120)),
      allowed: "https://HOST or https://HOST:PORT (http for localhost alone)")
    guard let (scheme, authority) = parts(url) else { throw refusal }
    do { _ = try Host.checked(authority) } catch { throw refusal }
    let isLocal = ["localhost", "127.0.0.1", "[::1]"].contains(host(authority))
    guard scheme == "https" || (scheme == "http" && isLocal) else { throw refusal }
    return "\(scheme)://\(authority)"
  }

  /// Host and port, as the short form of a configuration has them.
  static func authority(_ url: String) -> String { parts(url)?.authority ?? url }

  private static func parts(_ url: String) -> (scheme: String, authority: String)? {
    for scheme in ["https", "http"] where url.hasPrefix(scheme + "://") {
      return (scheme, String(url.dropFirst(scheme.count + 3)))
    }
    return nil
  }

  private static func host(_ authority: String) -> String {
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
      return String(authority[...end])
    }
    return String(authority.prefix { $0 != ":" })
  }
}
