// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// One line on standard error that says how far a run is; nothing if that is no terminal.
package struct Progress {
  private let isShown: Bool
  private let write: (String) -> Void

  package init() {
    self.init(isShown: isatty(STDERR_FILENO) == 1) { text in
      var text = text
      text.withUTF8 { bytes in
        // Ignore a write error: it could not be reported either.
        _ = unsafe Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
      }
    }
  }

  /// For tests.
  package init(isShown: Bool, write: @escaping (String) -> Void) {
    self.isShown = isShown
    self.write = write
  }

  /// Replaces the line.
  package func show(_ text: String) {
    if isShown { write("\r\u{1B}[K\(text)") }
  }

  /// Takes the line away.
  package func clear() {
    if isShown { write("\r\u{1B}[K") }
  }
}
