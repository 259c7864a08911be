// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Synchronization

/// Hardware on the bench: storage in memory, a generator from a seed, a clock that is set. Able to
/// fail, and to lose power, on command.
final class BenchPlatform: Platform {
  private struct State {
    var areas: [StorageArea: [UInt8]] = [:]
    var generator: SeededGenerator
    var now: UInt32 = 0
    var writes = 0
    var cut: Cut?
    var isDead = false
    var randomFails = false
    var scripted: [[UInt8]] = []
  }

  /// Power goes in the middle of a write.
  struct Cut {
    /// The index of the write, from 0.
    var write: Int
    /// How many bytes of it still arrive.
    var bytes: Int
    /// Content of the rest of the area afterwards.
    var rest: Rest
  }

  enum Rest: CaseIterable {
    case old
    case erased
    case garbage
  }

  private let state: Mutex<State>
  private let hasClock: Bool

  init(seed: UInt64 = 1, hasClock: Bool = true) {
    state = Mutex(State(generator: SeededGenerator(seed: seed)))
    self.hasClock = hasClock
  }

  var seconds: (@Sendable () -> UInt32)? {
    guard hasClock else { return nil }
    return { self.state.withLock { $0.now } }
  }

  func fillRandom(_ bytes: inout MutableSpan<UInt8>) throws(PlatformFailure) {
    let drawn: [UInt8]? = state.withLock { state in
      if state.randomFails { return nil }
      if !state.scripted.isEmpty { return state.scripted.removeFirst() }
      return (0..<bytes.count).map { _ in UInt8.random(in: .min ... .max, using: &state.generator) }
    }
    guard let drawn, drawn.count == bytes.count else { throw PlatformFailure() }
    for index in bytes.indices { bytes[index] = drawn[index] }
  }

  func read(_ bytes: inout MutableSpan<UInt8>, from area: StorageArea) throws(PlatformFailure) {
    let stored: [UInt8]? = state.withLock { $0.isDead ? nil : $0.areas[area] ?? [] }
    guard let stored else { throw PlatformFailure() }
    for index in bytes.indices { bytes[index] = index < stored.count ? stored[index] : 0xFF }
  }

  func write(_ bytes: Span<UInt8>, to area: StorageArea) throws(PlatformFailure) {
    let written = bytes.indices.map { bytes[$0] }
    let isDurable: Bool = state.withLock { state in
      if state.isDead { return false }
      defer { state.writes += 1 }
      guard let cut = state.cut, cut.write == state.writes else {
        state.areas[area] = written
        return true
      }
      var torn = state.areas[area] ?? [UInt8](repeating: 0xFF, count: written.count)
      for index in written.indices {
        if index < cut.bytes {
          torn[index] = written[index]
        } else if cut.rest == .erased {
          torn[index] = 0xFF
        } else if cut.rest == .garbage {
          torn[index] = UInt8.random(in: .min ... .max, using: &state.generator)
        }
      }
      state.areas[area] = torn
      state.isDead = true
      return false
    }
    guard isDurable else { throw PlatformFailure() }
  }

  /// Power comes back, if it was gone.
  func powerOn() {
    state.withLock { state in
      state.isDead = false
      state.cut = nil
    }
  }

  /// Power will go in the middle of a write that is still to come, counted from now.
  func cutPower(_ cut: Cut) {
    state.withLock { state in
      state.cut = Cut(write: state.writes + cut.write, bytes: cut.bytes, rest: cut.rest)
    }
  }

  var writes: Int { state.withLock { $0.writes } }

  var isDead: Bool { state.withLock { $0.isDead } }

  func failStorage() { state.withLock { $0.isDead = true } }

  func failRandom() { state.withLock { $0.randomFails = true } }

  func set(seconds: UInt32) { state.withLock { $0.now = seconds } }

  func script(random: [UInt8]) { state.withLock { $0.scripted.append(random) } }

  /// Drops scripted bytes that were not drawn.
  func forgetScript() { state.withLock { $0.scripted = [] } }

  /// Puts bytes into an area, past the verifier.
  func store(_ bytes: [UInt8], record: Int, copy: Int) {
    state.withLock { $0.areas[StorageArea(record: record, copy: copy)] = bytes }
  }

  /// Changes one byte of every stored area of a record.
  func damage(record: Int, copies: [Int]) {
    state.withLock { state in
      for (area, bytes) in state.areas where area.record == record && copies.contains(area.copy) {
        var bytes = bytes
        bytes[bytes.count / 2] ^= 1
        state.areas[area] = bytes
      }
    }
  }
}
