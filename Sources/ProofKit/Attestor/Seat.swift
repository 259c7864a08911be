// SPDX-License-Identifier: Apache-2.0

import Dispatch
import ProofModel

/// A caller's place at a fetch. It gets a result once, or nil if the caller gives up.
final class Seat: Sendable {
  private let give: CoreLock<(@Sendable (FetchResult?) -> Void)?>

  init(_ give: @escaping @Sendable (FetchResult?) -> Void) { self.give = CoreLock(give) }

  /// Whether it got a result, or was given up.
  var isOver: Bool { give.withLock { $0 == nil } }

  func fill(_ result: FetchResult?) {
    let give = give.withLock { give in
      defer { give = nil }
      return give
    }
    give?(result)
  }
}

/// A value that one thread gives to another that waits blocked.
final class Handover<Value: Sendable>: Sendable {
  private let value = CoreLock<Value?>(nil)
  private let signal = DispatchSemaphore(value: 0)

  func give(_ given: Value) {
    value.withLock { $0 = given }
    signal.signal()
  }

  /// Waits for the value. Further calls return the same value.
  @available(*, noasync, message: "it blocks a thread that another task may need")
  func wait() -> Value {
    signal.wait()
    signal.signal()
    return value.withLock { value in
      guard let value else { preconditionFailure("A value was signalled before it was given.") }
      return value
    }
  }

  /// Waits for the value; nil if it did not come in time. A time over 30 years is taken for 30
  /// years.
  @available(*, noasync, message: "it blocks a thread that another task may need")
  func wait(for time: Duration) -> Value? {
    let (seconds, attoseconds) = min(max(time, .zero), Self.longest).components
    let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    guard signal.wait(timeout: .now() + .nanoseconds(Int(nanoseconds))) == .success else {
      return nil
    }
    signal.signal()
    return value.withLock { $0 }
  }

  private static var longest: Duration { .seconds(30 * 365 * 86_400) }
}

/// Synchronises a task that takes a seat with its cancellation, which may come first.
final class Place: Sendable {
  private enum State {
    case free
    case taken(Seat)
    case left
  }

  private let state = CoreLock(State.free)

  /// Takes a seat; false if the task was cancelled before.
  func take(_ seat: Seat) -> Bool {
    state.withLock { state in
      guard case .free = state else { return false }
      state = .taken(seat)
      return true
    }
  }

  /// Leaves, and returns the seat that was taken, if any.
  func leave() -> Seat? {
    state.withLock { state in
      defer { state = .left }
      if case .taken(let seat) = state { return seat } else { return nil }
    }
  }
}
