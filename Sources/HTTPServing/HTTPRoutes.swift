// SPDX-License-Identifier: Apache-2.0

/// The routes that a service knows, as templates such as `/v1/config/{account}`.
///
/// Measures and logs name a request by its template. A path can hold an account's or a device's
/// name, and a stranger could exhaust memory by requesting many different paths.
public struct HTTPRoutes: Sendable {
  private struct Route {
    let template: String
    let segments: [Substring]
  }

  private let routes: [Route]
  /// The templates of paths that are templates themselves.
  private let known: [String: String]

  /// The name of a request outside all routes.
  public static let other = "other"

  /// Makes routes of these templates. A segment in braces stands for any non-empty one.
  public init(_ templates: [String]) {
    let routes = templates.map { Route(template: $0, segments: Self.segments($0)) }
    self.routes = routes
    known = Dictionary(templates.map { ($0, Self.template(of: $0, in: routes)) }) { one, _ in one }
  }

  /// The template of a path, or ``other``.
  public func template(of path: String) -> String {
    known[path] ?? Self.template(of: path, in: routes)
  }

  private static func template(of path: String, in routes: [Route]) -> String {
    let segments = Self.segments(path)
    let route = routes.first { route in
      route.segments.count == segments.count
        && zip(route.segments, segments).allSatisfy { pattern, segment in
          pattern.hasPrefix("{") ? !segment.isEmpty : pattern == segment
        }
    }
    return route?.template ?? Self.other
  }

  private static func segments(_ path: String) -> [Substring] {
    path.split(separator: "/", omittingEmptySubsequences: false)
  }
}

extension HTTPRequest {
  /// The method, or `other`, because a client may invent methods as it may invent paths.
  var knownMethod: String {
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(method)
      ? method : HTTPRoutes.other
  }
}
