// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Shows a gate's page in the system's browser, and takes the result on a port of 127.0.0.1.
public struct BrowserPresenter: ChallengePresenter {
  /// The command that opens an address: the address is its last argument.
  public let command: [String]

  /// Describes a presenter.
  ///
  /// - Parameter command: A program and its arguments, without the address. It must return or run beside the app.
  public init(command: [String] = ["xdg-open"]) { self.command = command }

  /// Opens the page and waits for its end.
  public func present(_ page: ChallengePage) async throws(PresenterError) -> String {
    try await LoopbackServer.present(page) { url in
      guard !command.isEmpty, CoreSockets.start(command + [url]) else { return false }
      return true
    }
  }
}

/// Writes the page's address to the terminal, for a browser on this machine, and waits for the result.
///
/// A person's answer needs a page: without a browser on this machine the address leads nowhere, and the request fails
/// with ``PresenterError/system`` when the page's time is over.
public struct TerminalPresenter: ChallengePresenter {
  private let write: (@Sendable (String) -> Void)?

  /// Describes a presenter.
  ///
  /// - Parameter write: Shows a line to the person; nil for standard output, if it is a terminal.
  public init(write: (@Sendable (String) -> Void)? = nil) { self.write = write }

  /// Shows the address and waits for the page's end.
  public func present(_ page: ChallengePage) async throws(PresenterError) -> String {
    guard write != nil || CoreSockets.isTerminal else { throw .cannotBeShown }
    let write = write ?? { print($0) }
    return try await LoopbackServer.present(page) { url in
      write("\(page.origin) asks whether you are a person.")
      write("Open this address in a browser on this machine:")
      write(url)
      return true
    }
  }
}

extension LoopbackServer {
  /// Shows a page that brings its result to a port of this machine.
  static func present(
    _ page: ChallengePage, open: (String) -> Bool
  ) async throws(PresenterError) -> String {
    guard let server = LoopbackServer() else { throw .internal }
    guard open(page.url(returningTo: server.port, state: server.state)) else {
      throw .cannotBeShown
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        CoreThread.run { continuation.resume(returning: server.wait(for: ChallengeTimes.page)) }
      }
    } onCancel: {
      server.cancel()
    }
    return try result.get()
  }
}
