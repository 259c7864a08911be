// SPDX-License-Identifier: Apache-2.0

/// A directive of an nginx configuration, such as `proxy_pass http://api;` or `location / { … }`.
package struct NginxDirective: Sendable, Hashable {
  /// The place of a directive.
  package struct Place: Sendable, Hashable, CustomStringConvertible {
    /// The file's name, as nginx opens it.
    package var file: String
    /// The line, from 1.
    package var line: Int

    package init(file: String, line: Int) {
      self.file = file
      self.line = line
    }

    package var description: String {
      // The name may come from an `include`.
      "\(Self.plain(file)):\(line)"
    }

    /// A text of a configuration, with marks for characters that could change the lines of a report, or which a
    /// terminal would obey.
    static func plain(_ text: String) -> String {
      text.unicodeScalars.map { scalar in
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: "?"
        default: String(scalar)
        }
      }.joined()
    }
  }

  /// Its first word.
  package var name: String
  /// The words after the first, without quotes and with escapes undone.
  package var words: [String]
  /// The directives between its braces; nil if it ends with a semicolon. The text of a Lua block is left out.
  package var block: [NginxDirective]?
  /// The place of its first word.
  package var place: Place

  /// The words as one text, for comparisons and messages.
  var text: String { words.joined(separator: " ") }

  /// The directives of its block; none for a directive without one.
  var inner: [NginxDirective] { block ?? [] }
}

/// The reason why a file is no nginx configuration.
package struct NginxSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The place.
  package let place: NginxDirective.Place
  /// The cause.
  package let problem: String

  package init(place: NginxDirective.Place, problem: String) {
    self.place = place
    self.problem = problem
  }

  package var description: String { "\(place): \(problem)" }
}
