// SPDX-License-Identifier: Apache-2.0

internal import CMicroHTTPD

/// Limits in the form of the C server.
enum CoreLimits {
  static func checked(
    _ limits: HTTPLimits, socketMode: UInt32 = 0
  ) throws(HTTPServerError) -> pfh_limits {
    guard socketMode & ~0o777 == 0 else {
      throw .limit(
        "socketMode", value: String(socketMode, radix: 8), allowed: "0 to 777, in octal digits")
    }
    try check("threads", limits.threads, 1...256)
    try check("connections", limits.connections, limits.threads...1_000_000)
    try check("connectionsPerAddress", limits.connectionsPerAddress, 0...1_000_000)
    try check("headByteCount", limits.headByteCount, 1 << 10...1 << 20)
    try check("bodyByteCount", limits.bodyByteCount, 0...1 << 30)
    try check("bodiesByteCount", limits.bodiesByteCount, limits.bodyByteCount...1 << 40)
    try check("requestTime", limits.requestTime)
    try check("idleTime", limits.idleTime)
    return pfh_limits(
      threads: UInt32(limits.threads), connections: UInt32(limits.connections),
      connections_per_address: UInt32(limits.connectionsPerAddress), head: limits.headByteCount,
      body: limits.bodyByteCount, bodies: limits.bodiesByteCount,
      request_ms: milliseconds(limits.requestTime), idle_ms: milliseconds(limits.idleTime),
      local_mode: socketMode)
  }

  /// At least one, at most a day.
  static func milliseconds(_ time: Duration) -> UInt32 {
    UInt32(max(1, min(time, .seconds(86_400)) / .milliseconds(1)))
  }

  private static func check(
    _ name: String, _ value: Int, _ allowed: ClosedRange<Int>
  ) throws(HTTPServerError) {
    guard allowed.contains(value) else {
      throw .limit(
        name, value: "\(value)", allowed: "\(allowed.lowerBound) to \(allowed.upperBound)")
    }
  }

  private static func check(_ name: String, _ time: Duration) throws(HTTPServerError) {
    guard time >= .milliseconds(1), time <= .seconds(86_400) else {
      throw .limit(name, value: "\(time)", allowed: "a millisecond to a day")
    }
  }
}
