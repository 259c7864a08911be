// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The counts of a store in memory. Entries that no redemption touched for ``EventCounts/retention`` are forgotten
/// within as many seconds more.
struct MemoryCounts {
  private struct Device {
    var meter = EventMeter()
    /// When an event of the device named the account last.
    var accounts: [ReplayKey: UnixTime] = [:]
  }

  private struct Half {
    var devices: [ReplayKey: Device] = [:]
    /// When an event named the account last, by device.
    var accounts: [ReplayKey: [ReplayKey: UnixTime]] = [:]

    var count: Int { devices.count + accounts.count }
  }

  private var young = Half()
  private var old = Half()
  /// The first second of the young half.
  private var start: UnixTime = 0

  /// How many devices and accounts there are.
  var count: Int { young.count + old.count }

  /// Counts an event.
  mutating func add(device: ReplayKey, account: ReplayKey?, at now: UnixTime) -> EventCounts {
    if now >= start + EventCounts.retention {
      old = now >= start + 2 * EventCounts.retention ? Half() : young
      young = Half()
      start = now
    }
    var counts = EventCounts()
    let earlier = old.devices.removeValue(forKey: device)
    Self.change(&young.devices[device, default: earlier ?? Device()]) { entry in
      entry.meter.add(at: now)
      counts.eventsOfDevice = entry.meter.span(at: now)
      if let account { Self.see(account, in: &entry.accounts, at: now) }
      counts.accountsOfDevice = Self.span(of: entry.accounts, at: now)
    }
    if let account {
      let earlier = old.accounts.removeValue(forKey: account)
      Self.change(&young.accounts[account, default: earlier ?? [:]]) { devices in
        Self.see(device, in: &devices, at: now)
        counts.devicesOfAccount = Self.span(of: devices, at: now)
      }
    }
    return counts
  }

  /// Forgets which devices an account was seen with.
  mutating func forget(_ account: ReplayKey) -> Int {
    let devices = Set(
      [young, old].flatMap { half in half.accounts[account].map { Array($0.keys) } ?? [] })
    for device in devices {
      young.devices[device]?.accounts[account] = nil
      old.devices[device]?.accounts[account] = nil
    }
    young.accounts[account] = nil
    old.accounts[account] = nil
    return devices.count
  }

  private static func change<Value>(_ value: inout Value, _ body: (inout Value) -> Void) {
    body(&value)
  }

  /// Notes a moment. Of more names than are counted the eldest gives way.
  private static func see(
    _ name: ReplayKey, in moments: inout [ReplayKey: UnixTime], at now: UnixTime
  ) {
    if moments[name] == nil, moments.count >= Int(EventCounts.most),
      let eldest = moments.min(by: { $0.value < $1.value })
    {
      moments[eldest.key] = nil
    }
    moments[name] = max(now, moments[name] ?? 0)
  }

  private static func span(of moments: [ReplayKey: UnixTime], at now: UnixTime) -> EventCounts.Span
  {
    var span = EventCounts.Span()
    for moment in moments.values {
      if moment + 60 > now { span.minute += 1 }
      if moment + 3_600 > now { span.hour += 1 }
      if moment + 86_400 > now { span.day += 1 }
    }
    return span
  }
}
