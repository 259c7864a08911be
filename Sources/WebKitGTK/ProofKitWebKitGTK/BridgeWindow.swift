// SPDX-License-Identifier: Apache-2.0

public import ProofKit

/// A window whose pages may ask a ``PageBridge`` for event tokens.
///
/// The bridge's script stands in a script world of its own, in the top frame alone. The window tells the bridge the
/// address of the document that is shown; an address that is still loading does not count. Use it on the thread of
/// GTK's main loop.
public final class BridgeWindow {
  private let window: WebWindow

  /// Makes a window.
  ///
  /// - Parameters:
  ///   - bridge: Answers the pages.
  ///   - title: The window's title.
  ///   - width: The window's width in points; 0 for a view that is not shown.
  ///   - height: The window's height.
  ///   - change: Takes each title of a page, and nil when the person closes the window.
  public init(
    _ bridge: PageBridge, title: String, width: Int = 800, height: Int = 600,
    change: @escaping (String?) -> Void = { _ in }
  ) {
    let window = WebWindow(
      title: title, width: Int32(clamping: width), height: Int32(clamping: height))
    self.window = window
    window.change = change
    window.answer = { [weak window] message in
      bridge.reply(to: message) { window?.url.map { PageBridge.Frame(url: $0, isTop: true) } }
    }
    window.bridge(PageBridge.script, PageBridge.handlerName)
  }

  /// The address of the document that is shown; nil while there is none.
  public var url: String? { window.url }

  /// Loads a page.
  public func load(_ url: String) { window.load(url) }

  /// Trusts the certificate of a host beside the system's authorities, for tests.
  ///
  /// - Parameters:
  ///   - certificate: A PEM file.
  ///   - host: The host's name or address.
  /// - Returns: False if the file cannot be read.
  public func trust(_ certificate: String, for host: String) -> Bool {
    window.trust(certificate, for: host)
  }
}
