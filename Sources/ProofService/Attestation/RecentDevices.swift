// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// Rows of devices that asked for a challenge a moment ago. The report that follows is judged by that row, so that the
/// store is read once for both.
///
/// Invariant: a row from here decides nothing by itself. ``Store/use(_:)`` compares its version and the account's
/// revision before it writes, and ``AttestationService`` sends no other answer that was judged by it: it reads the
/// store, and judges again.
final class RecentDevices: Sendable {
  /// The most devices. The device's first bytes say which of these places is its own, and a later device takes it.
  static let count = 4_096
  /// Longer notes are not kept, so that the memory has a bound.
  static let noteMax = 4_096

  private let rows = CoreLock([DeviceRow?](repeating: nil, count: count))

  /// Keeps a row for the report that is to follow.
  func keep(_ row: DeviceRow) {
    guard row.note.count <= Self.noteMax else { return }
    rows.withLock { $0[Self.place(of: row.device)] = row }
  }

  /// The row that was kept for a device. It is given once: a report that comes again is looked up in the store.
  func take(_ device: InstanceID) -> DeviceRow? {
    rows.withLock { rows in
      let place = Self.place(of: device)
      guard let row = rows[place], row.device == device else { return nil }
      rows[place] = nil
      return row
    }
  }

  private static func place(of device: InstanceID) -> Int {
    device.withBytes { (Int($0[0]) | Int($0[1]) << 8) % count }
  }
}
