// SPDX-License-Identifier: Apache-2.0

import ProofBytes

/// Shows a gate's page to a person: ``BrowserPresenter``, ``TerminalPresenter``, or one of the app's own.
public protocol ChallengePresenter: Sendable {
  /// Shows a page and returns the data that its success callback gave. Cancelling the task must close the page.
  ///
  /// - Parameter page: The page and how to show it.
  /// - Returns: The data: a clearance.
  /// - Throws: ``PresenterError``.
  func present(_ page: ChallengePage) async throws(PresenterError) -> String
}

/// The page of a challenge, and how an app wants it shown.
public struct ChallengePage: Sendable, Hashable {
  /// The place that the app gives the page.
  public enum Layout: String, Sendable, Hashable, CaseIterable {
    /// A block of fixed size within a view of the app, at least 300 x 230 points. It does not scale.
    case embedded
    /// A window of its own, 360 x 360 points at first. It scales down with a smaller view.
    case popUp = "popup"
  }

  /// The app's choices.
  public struct Options: Sendable, Hashable {
    /// The place that the app gives the page.
    public var layout = Layout.popUp
    /// Whether the person may close the page without an answer.
    public var isDismissible = true
    /// The language as a tag such as `de`; nil for the choice of the page.
    public var language: String?
    /// A page of the app's own in place of the gate's: an `https` URL, or a `file` URL without a query.
    public var page: String?

    /// Describes choices.
    public init(
      layout: Layout = .popUp, isDismissible: Bool = true, language: String? = nil,
      page: String? = nil
    ) {
      self.layout = layout
      self.isDismissible = isDismissible
      self.language = language
      self.page = page
    }
  }

  /// The page's address, with the challenge in its query.
  public let url: String
  /// The gate's origin, such as `https://api.example.com`.
  public let origin: String
  /// The app's choices.
  public let options: Options

  init(
    _ challenge: GateClient.Challenge, at origin: String, _ method: String, _ target: String,
    handle: String, _ options: Options
  ) {
    self.origin = origin
    self.options = options
    var items = [
      ("challenge", challenge.id), ("method", method), ("target", target), ("handle", handle),
      ("layout", options.layout.rawValue),
    ]
    if options.isDismissible { items.append(("dismissible", "yes")) }
    if let language = options.language { items.append(("language", language)) }
    var base = origin + "/.well-known/proofkit/page"
    if let page = options.page {
      base = page
      items.append(("gate", origin))
    }
    url = base + (base.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + Self.query(items)
  }

  /// The page's address for a browser that brings the result to a server of this machine.
  ///
  /// - Parameters:
  ///   - port: The server's port on 127.0.0.1.
  ///   - state: A random text. The result must carry it.
  /// - Returns: The address.
  public func url(returningTo port: UInt16, state: String) -> String {
    url + "&" + Self.query([("loopback", "\(port)"), ("state", state)])
  }

  /// Reads what a page posts to its host at its end: `{"success":{"data":"…"}}` or `{"failed":"1005"}`.
  ///
  /// A presenter takes messages of ``origin``, or of the app's own page, alone.
  ///
  /// - Parameter message: The text that the page posted.
  /// - Returns: The data, or the error of the code; nil for another text.
  public static func result(of message: String) -> Result<String, PresenterError>? {
    guard message.utf8.count <= 4096,
      let members = (try? JSONText.parse(Array(message.utf8)))?.members, members.count == 1
    else { return nil }
    if let data = members["success"]?.members?["data"]?.text { return .success(data) }
    return members["failed"]?.text.map { .failure(PresenterError(code: $0) ?? .abnormalData) }
  }

  private static func query(_ items: [(String, String)]) -> String {
    items.map { "\($0.0)=\(PercentEncoding.encoded($0.1))" }.joined(separator: "&")
  }
}
