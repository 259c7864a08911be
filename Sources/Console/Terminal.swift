// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The output of an executable.
package struct Terminal: Sendable {
  package enum Colour: String, Sendable {
    case red = "31"
    case green = "32"
    case yellow = "33"
    case bold = "1"
    case dim = "2"
  }

  private let hasColours: Bool

  /// Standard output: with colours only if it is a terminal, and NO_COLOR is not set.
  package init() {
    hasColours = isatty(STDOUT_FILENO) == 1 && Self.environment("NO_COLOR") == nil
  }

  package func coloured(_ text: String, _ colour: Colour) -> String {
    hasColours ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Writes a line to standard error.
  package static func complain(_ text: String) {
    var line = text + "\n"
    line.withUTF8 { bytes in
      // Write errors are ignored: no other output is left to report them to.
      _ = unsafe write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    }
  }

  /// Ends the process with a status.
  package static func end(_ status: Int32) -> Never { exit(status) }

  private static func environment(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }
}
