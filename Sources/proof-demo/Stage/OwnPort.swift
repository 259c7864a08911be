// SPDX-License-Identifier: Apache-2.0

/// A port of 127.0.0.1 for a process that is stopped and comes back at the same place.
///
/// The kernel gives connections, and servers that name no port, those from 32,768 on
/// (`net.ipv4.ip_local_port_range`). Such a port could be another program's when the process comes
/// back.
struct OwnPort {
  private static let range = 30_000..<32_768
  private static let tries = 8

  /// Zero before the first start.
  private(set) var number = 0

  /// Starts the process: at the first time on a port that is free, then on the same.
  ///
  /// - Parameter begin: Starts it on a port, and returns when it listens.
  /// - Returns: What `begin` returns.
  /// - Throws: What `begin` throws.
  mutating func start<Started>(_ begin: (Int) throws -> Started) throws -> Started {
    var left = Self.tries
    while number == 0 {
      let port = Int.random(in: Self.range)
      left -= 1
      do {
        let started = try begin(port)
        number = port
        return started
      } catch let failure as StageFailure
        where left > 0 && failure.description.contains("cannot listen on port \(port)")
      {
        continue
      }
    }
    return try begin(number)
  }
}
