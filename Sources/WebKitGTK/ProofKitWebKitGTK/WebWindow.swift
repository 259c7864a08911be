// SPDX-License-Identifier: Apache-2.0

internal import CWebWindow
internal import Glibc

/// A window with a WebKitGTK view. All of it belongs to the thread of GTK's main loop.
@safe final class WebWindow {
  private let window: OpaquePointer
  /// Answers a message of the bridge's script.
  var answer: (String) -> String? = { _ in nil }
  /// Takes a message that the page posted.
  var message: (String) -> Void = { _ in }
  /// Takes a title; nil when the window was closed.
  var change: (String?) -> Void = { _ in }

  init(title: String, width: Int32, height: Int32) {
    unsafe window = pww_window_new(title, width, height)
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe pww_window_watch(
      window,
      { context, _, title in
        let title = unsafe title.map { unsafe String(cString: $0) }
        unsafe WebWindow.of(context)?.change(title)
      }, context)
  }

  deinit { unsafe pww_window_free(window) }

  /// The address of the document that is shown; nil while there is none.
  var url: String? {
    guard let text = unsafe pww_window_url(window) else { return nil }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }

  func load(_ url: String) { unsafe pww_window_load(window, url) }

  func trust(_ certificate: String, for host: String) -> Bool {
    unsafe pww_window_trust(window, certificate, host) != 0
  }

  /// Runs a script in a world of its own and answers its messages.
  func bridge(_ script: String, _ name: String) {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe pww_window_bridge(
      window, script, name,
      { context, _, message in
        guard let message = unsafe message, let window = unsafe WebWindow.of(context),
          let answer = unsafe window.answer(String(cString: message))
        else { return nil }
        return unsafe strdup(answer)
      }, context)
  }

  /// Takes what pages post to `proofkit`.
  func listen() {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe pww_window_listen(
      window,
      { context, _, message in
        guard let message = unsafe message else { return }
        unsafe WebWindow.of(context)?.message(String(cString: message))
      }, context)
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> WebWindow? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<WebWindow>.fromOpaque(context).takeUnretainedValue()
  }
}

/// GTK's main loop, for apps that have none.
public enum WebLoop {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Begins GTK on this thread; false without a display.
  public static func begin() -> Bool { pww_init() != 0 }

  /// Runs the main loop on this thread until ``quit()``.
  public static func run() { pww_run() }

  /// Ends ``run()``.
  public static func quit() { pww_quit() }

  /// Runs a body on the thread of the main loop. May be called on any thread.
  public static func onMain(_ run: @escaping @Sendable () -> Void) {
    let body = unsafe Unmanaged.passRetained(Body(run)).toOpaque()
    unsafe pww_run_on_main(
      { context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
      }, body)
  }
}
