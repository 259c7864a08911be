// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Runs one body for all calls with one key that are made before it ends.
final class SharedCalls<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A call that waits for a value. It gets one at most, or leaves.
  final class Place: Sendable {
    private let give: CoreLock<(@Sendable (Value) -> Void)?>

    init(_ give: @escaping @Sendable (Value) -> Void) { self.give = CoreLock(give) }

    func fill(_ value: Value) {
      let give = give.withLock { give in
        defer { give = nil }
        return give
      }
      give?(value)
    }
  }

  private struct Call {
    let number: UInt64
    let cancellation: Cancellation
    var places: [Place]
  }

  private let calls = CoreLock<(next: UInt64, all: [Key: Call])>((0, [:]))

  init() {}

  /// Takes a place in the call under way, or begins one on a thread of the library.
  func begin(
    _ key: Key, _ place: Place, _ body: @escaping @Sendable (Cancellation) -> Value
  ) {
    let call = calls.withLock { calls -> Call? in
      guard calls.all[key] == nil else {
        calls.all[key]?.places.append(place)
        return nil
      }
      calls.next += 1
      let call = Call(number: calls.next, cancellation: Cancellation(), places: [place])
      calls.all[key] = call
      return call
    }
    guard let call else { return }
    CorePool.requests.run {
      let value = body(call.cancellation)
      let places = self.calls.withLock { calls -> [Place] in
        // A call that all had left has made room for another one.
        guard let ended = calls.all[key], ended.number == call.number else { return [] }
        calls.all[key] = nil
        return ended.places
      }
      for place in places { place.fill(value) }
    }
  }

  /// Leaves; the body is cancelled when the last call has left.
  func leave(_ key: Key, _ place: Place, _ value: Value) {
    let abandoned = calls.withLock { calls -> Cancellation? in
      guard calls.all[key]?.places.contains(where: { $0 === place }) == true else { return nil }
      calls.all[key]?.places.removeAll { $0 === place }
      guard let call = calls.all[key], call.places.isEmpty else { return nil }
      calls.all[key] = nil
      return call.cancellation
    }
    abandoned?.cancel()
    place.fill(value)
  }
}
