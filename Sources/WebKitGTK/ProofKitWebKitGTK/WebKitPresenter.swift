// SPDX-License-Identifier: Apache-2.0

public import ProofKit

/// Shows a gate's page in a window of WebKitGTK. The app runs GTK's main loop.
public struct WebKitPresenter: ChallengePresenter {
  /// A certificate that the window trusts for one host, for tests.
  public struct Trust: Sendable, Hashable {
    /// A PEM file.
    public var certificate: String
    /// The host's name or address.
    public var host: String

    /// Names a certificate.
    public init(certificate: String, host: String) {
      self.certificate = certificate
      self.host = host
    }
  }

  private let title: String
  private let trust: Trust?

  /// Describes a presenter.
  ///
  /// - Parameters:
  ///   - title: The window's title.
  ///   - trust: A certificate for tests.
  public init(title: String = "", trust: Trust? = nil) {
    self.title = title
    self.trust = trust
  }

  /// Opens a window, 360 x 360 points or 300 x 230 for an embedded page, and waits for the page's end.
  public func present(_ page: ChallengePage) async throws(PresenterError) -> String {
    let shown = Shown()
    let result: Result<String, PresenterError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        WebLoop.onMain { [title, trust] in
          shown.open(page, title, trust) { continuation.resume(returning: $0) }
        }
      }
    } onCancel: {
      WebLoop.onMain { shown.end(.failure(.cancelled)) }
    }
    return try result.get()
  }

  /// A window that shows a page.
  ///
  /// `@unchecked Sendable` because only the thread of the main loop uses it.
  private final class Shown: @unchecked Sendable {
    private var window: WebWindow?
    private var done: ((Result<String, PresenterError>) -> Void)?
    private var ended: Result<String, PresenterError>?

    func open(
      _ page: ChallengePage, _ title: String, _ trust: Trust?,
      _ done: @escaping (Result<String, PresenterError>) -> Void
    ) {
      if let ended { return done(ended) }
      self.done = done
      let isEmbedded = page.options.layout == .embedded
      let window = WebWindow(
        title: title, width: isEmbedded ? 300 : 360, height: isEmbedded ? 230 : 360)
      self.window = window
      if let trust, !window.trust(trust.certificate, for: trust.host) {
        return end(.failure(.parameter))
      }
      // Only the page that was opened may end it: its origin is compared for each message.
      let place = page.options.page ?? page.origin
      window.message = { [weak self, weak window] message in
        guard let self, let url = window?.url, Self.isOf(url, place),
          let result = ChallengePage.result(of: message)
        else { return }
        // The window must outlive the callback that is running.
        WebLoop.onMain { self.end(result) }
      }
      window.change = { [weak self] title in
        guard let self, title == nil, page.options.isDismissible else { return }
        WebLoop.onMain { self.end(.failure(.cancelled)) }
      }
      window.listen()
      window.load(page.url)
    }

    func end(_ result: Result<String, PresenterError>) {
      ended = ended ?? result
      window = nil
      done?(result)
      done = nil
    }

    /// Whether an address has the origin of another one, or is the same file.
    private static func isOf(_ url: String, _ other: String) -> Bool {
      if let origin = PageBridge.Origin(of: other) { return PageBridge.Origin(of: url) == origin }
      return other.hasPrefix("file:///") && url.prefix { $0 != "?" && $0 != "#" } == other
    }
  }
}
