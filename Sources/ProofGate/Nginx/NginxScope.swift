// SPDX-License-Identifier: Apache-2.0

/// A server or location of an nginx configuration, with what it inherits.
struct NginxScope: Sendable {
  /// The directives of each level, from the file to the scope itself.
  private let levels: [[NginxDirective]]
  /// The directive that opens the scope; nil for a file without one.
  let opening: NginxDirective?

  init(_ levels: [[NginxDirective]], opening: NginxDirective? = nil) {
    self.levels = levels
    self.opening = opening
  }

  /// The scope of a block inside this one.
  func inside(_ directive: NginxDirective) -> NginxScope {
    NginxScope(levels + [directive.inner], opening: directive)
  }

  /// The directives of the scope itself.
  var own: [NginxDirective] { levels.last ?? [] }

  /// The directives of the level above.
  var above: NginxScope { NginxScope(Array(levels.dropLast())) }

  /// The place of the scope, or of its first directive.
  var place: NginxDirective.Place {
    opening?.place ?? own.first?.place ?? NginxDirective.Place(file: "", line: 1)
  }

  /// The directive that counts here: the scope's own, or the one of the nearest level above.
  func one(_ name: String) -> NginxDirective? {
    for level in levels.reversed() {
      if let found = level.last(where: { $0.name == name }) { return found }
    }
    return nil
  }

  /// The directives of a list that count here. As in nginx, a level with one of them inherits none.
  func list(_ name: String) -> [NginxDirective] {
    for level in levels.reversed() {
      let found = level.filter { $0.name == name }
      if !found.isEmpty { return found }
    }
    return []
  }

  /// The value of a switch that counts here.
  func word(_ name: String) -> String? { one(name)?.words.first }

  /// The URI of the question, if the scope asks one.
  var question: NginxDirective? {
    guard let found = one("auth_request"), found.words.first != "off" else { return nil }
    return found
  }

  /// The directive that hands requests to a backend. It belongs to its location alone.
  var pass: NginxDirective? {
    own.first { directive in
      ["proxy_pass", "grpc_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass"]
        .contains { $0 == directive.name }
    }
  }

  /// The blocks in it that are locations of the same server.
  var nested: [NginxScope] {
    own.filter { $0.block != nil && ["location", "if", "limit_except"].contains($0.name) }
      .map(inside)
  }

  /// A location's name, such as `location = /proof-gate`.
  var title: String {
    guard let opening else { return "the file" }
    return opening.words.isEmpty ? opening.name : "\(opening.name) \(opening.text)"
  }
}
