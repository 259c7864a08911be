// SPDX-License-Identifier: Apache-2.0

/// The app's name, and how it was started.
struct Activity: Sendable, Hashable {
  /// The starter of the process, as far as the system tells.
  enum Launch: String, Sendable {
    /// A desktop, for a person: it passed a token for bringing up a window.
    case desktop
    /// A shell in the foreground of a terminal.
    case terminal
    /// Another starter: a service manager, another program, a remote command.
    case other
  }

  let name: String
  let launch: Launch
}
