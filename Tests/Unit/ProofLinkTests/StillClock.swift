// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// A clock that stands still. Short pauses take no time; a longer sleep lasts until the test says
/// that its time is over.
final class StillClock: Clock {
  struct Instant: InstantProtocol {
    var offset: Duration

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Sleeper {
    let number: Int
    let duration: Duration
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var sleepers: [Sleeper] = []
    var cancelled: Set<Int> = []
    var over: [Duration] = []
    var count = 0
  }

  private let state = CoreLock(State())

  var now: Instant { Instant(offset: .zero) }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let duration = deadline.offset
    guard duration > .seconds(1) else { return }
    let number = state.withLock {
      $0.count += 1
      return $0.count
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Void, any Error>? = state.withLock {
          if $0.cancelled.remove(number) != nil { return .failure(CancellationError()) }
          if let index = $0.over.firstIndex(of: duration) {
            $0.over.remove(at: index)
            return .success(())
          }
          $0.sleepers.append(
            Sleeper(number: number, duration: duration, continuation: continuation))
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let sleeper: Sleeper? = state.withLock {
        guard let index = $0.sleepers.firstIndex(where: { $0.number == number }) else {
          $0.cancelled.insert(number)
          return nil
        }
        return $0.sleepers.remove(at: index)
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  /// The time of one sleep of this length is over: one that lasts, or the next.
  func pass(_ duration: Duration) {
    let sleeper: Sleeper? = state.withLock {
      guard let index = $0.sleepers.firstIndex(where: { $0.duration == duration }) else {
        $0.over.append(duration)
        return nil
      }
      return $0.sleepers.remove(at: index)
    }
    sleeper?.continuation.resume()
  }

  /// Forgets times that passed without a sleeper.
  func forget() { state.withLock { $0.over = [] } }
}
