// SPDX-License-Identifier: Apache-2.0

/// The answer of a handler: a response, or a wait for one.
///
/// A handler that must wait, say for a disk, returns ``later(_:)``. The thread that called it then
/// serves other connections, so that a few threads carry any number of requests that wait.
public enum HTTPAnswer: Sendable {
  /// The response.
  case now(HTTPResponse)
  /// A response that comes later.
  case later(HTTPWait)

  /// The answer with a change to its response, whenever that comes.
  ///
  /// - Parameter change: Called once with the response.
  /// - Returns: The changed answer.
  public func map(
    _ change: @escaping @Sendable (HTTPResponse) -> HTTPResponse
  ) -> HTTPAnswer {
    switch self {
    case .now(let response): .now(change(response))
    case .later(let wait): .later(HTTPWait(wait.begin) { wait.finish().map(change) })
    }
  }

  /// The response. Blocks the calling thread while the answer waits.
  public func response() -> HTTPResponse {
    var answer = self
    while true {
      switch answer {
      case .now(let response): return response
      case .later(let wait):
        let turn = Turn()
        wait.begin { turn.give() }
        turn.take()
        answer = wait.finish()
      }
    }
  }
}

/// A wait for a response.
public struct HTTPWait: Sendable {
  /// Begins the wait. It calls `wake` once when the wait is over, on any thread, perhaps before it
  /// returns. `wake` takes no time.
  let begin: @Sendable (_ wake: @escaping @Sendable () -> Void) -> Void
  /// Goes on after the wait. Called once, on a thread of the server, also if the client has gone.
  let finish: @Sendable () -> HTTPAnswer

  /// Makes a wait.
  ///
  /// - Parameters:
  ///   - begin: Begins the wait and returns. It must arrange that `wake` is called once, by any
  ///     thread.
  ///   - finish: Goes on once `wake` was called. It is called once, on a thread of the server, and
  ///     also if the client has gone.
  public init(
    _ begin: @escaping @Sendable (_ wake: @escaping @Sendable () -> Void) -> Void,
    finish: @escaping @Sendable () -> HTTPAnswer
  ) {
    self.begin = begin
    self.finish = finish
  }
}
