// SPDX-License-Identifier: Apache-2.0

package import ProofModel

/// Counts of the tokens that counted, as one redemption found them and with this redemption in them.
///
/// A span covers at least its name and at most a sixth more: the events of a device are counted in cells of 10 s, 5 min
/// and 1 h.
public struct EventCounts: Sendable, Hashable {
  /// A number in the last minute, hour and day.
  public struct Span: Sendable, Hashable {
    /// The last minute.
    public var minute: UInt32
    /// The last hour.
    public var hour: UInt32
    /// The last day.
    public var day: UInt32

    /// Three numbers.
    public init(minute: UInt32 = 0, hour: UInt32 = 0, day: UInt32 = 0) {
      self.minute = minute
      self.hour = hour
      self.day = day
    }
  }

  /// Accounts of one device, and devices of one account, are counted up to this number, which stands for more.
  public static let most: UInt32 = 256
  /// Seconds for which a store keeps what it counts; it forgets within as many more.
  public static let retention: UInt64 = 90_000

  /// User accounts that events of this device named.
  public var accountsOfDevice = Span()
  /// Devices whose events named this account; zeros for an event without an account.
  public var devicesOfAccount = Span()
  /// Events of this device.
  public var eventsOfDevice = Span()

  /// No counts.
  public init() {}
}

/// The moments of one thing, counted in cells, so that a day takes 192 bytes.
package struct EventMeter: Sendable, Hashable {
  private struct Scale {
    let width: UInt64
    let cells: Int
    let first: Int
  }

  // One cell more than the span has, because the youngest is not full yet.
  private static let scales = [
    Scale(width: 10, cells: 7, first: 3), Scale(width: 300, cells: 13, first: 10),
    Scale(width: 3_600, cells: 25, first: 23),
  ]
  private static let wordCount = 48
  /// How many bytes ``bytes`` has.
  package static let byteCount = 4 * wordCount

  /// The number of the youngest cell of each scale, then the cells.
  private var words: [UInt32]

  /// An empty meter.
  package init() { words = [UInt32](repeating: 0, count: Self.wordCount) }

  /// Reads ``bytes``; an empty meter from anything else.
  package init(_ bytes: [UInt8]) {
    let isWhole = bytes.count == Self.byteCount
    words = (0..<Self.wordCount).map { word in
      isWhole ? UInt32(littleEndianBytes: bytes[4 * word..<4 * word + 4]) : 0
    }
  }

  /// The meter, for a store.
  package var bytes: [UInt8] { words.flatMap(\.littleEndianBytes) }

  /// Counts one more. A moment before the youngest cell counts in that cell.
  package mutating func add(at now: UnixTime) {
    for (index, scale) in Self.scales.enumerated() {
      advance(index, to: now)
      let cell = scale.first + Int(words[index]) % scale.cells
      if words[cell] < .max { words[cell] += 1 }
    }
  }

  /// The numbers of the last minute, hour and day.
  package mutating func span(at now: UnixTime) -> EventCounts.Span {
    var sums: [UInt32] = []
    for (index, scale) in Self.scales.enumerated() {
      advance(index, to: now)
      var sum: UInt32 = 0
      for cell in scale.first..<scale.first + scale.cells {
        sum = sum.addingReportingOverflow(words[cell]).overflow ? .max : sum + words[cell]
      }
      sums.append(sum)
    }
    return EventCounts.Span(minute: sums[0], hour: sums[1], day: sums[2])
  }

  /// The number of the last day, as ``span(at:)`` has it.
  func day(at now: UnixTime) -> UInt32 {
    let (index, scale) = (Self.scales.count - 1, Self.scales[Self.scales.count - 1])
    let youngest = max(words[index], UInt32(clamping: now.unsigned / scale.width))
    let passed = Int(min(UInt64(youngest - words[index]), UInt64(scale.cells)))
    return (passed..<scale.cells).reduce(into: 0) { sum, step in
      let word = words[scale.first + (Int(youngest) + scale.cells - step) % scale.cells]
      sum = sum.addingReportingOverflow(word).overflow ? .max : sum + word
    }
  }

  /// Makes the cell of a moment the youngest, and clears those that it takes over.
  private mutating func advance(_ index: Int, to now: UnixTime) {
    let scale = Self.scales[index]
    let youngest = UInt32(clamping: now.unsigned / scale.width)
    guard youngest > words[index] else { return }
    let passed = Int(min(UInt64(youngest - words[index]), UInt64(scale.cells)))
    for step in 0..<passed {
      words[scale.first + (Int(youngest) - step) % scale.cells] = 0
    }
    words[index] = youngest
  }
}
