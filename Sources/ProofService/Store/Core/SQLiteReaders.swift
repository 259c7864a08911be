// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ProofModel
internal import Synchronization

/// The connections that read for requests: as many as there are processors, two at least. A thread takes one that no
/// other thread uses, and waits only if all are in use.
final class SQLiteReaders: Sendable {
  /// The most connections. Each keeps a cache of 2 MiB and has three open files.
  static let countMax = 8

  private let connections: [CoreLock<SQLiteConnection>]
  /// Where the next search begins, so that waiting threads spread.
  private let next = Atomic<Int>(0)

  /// As many as there are processors.
  static var count: Int { min(max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN))), countMax) }

  /// Opens the connections.
  init(path: String, patience: Int32, count: Int = SQLiteReaders.count) throws(StoreError) {
    var connections: [CoreLock<SQLiteConnection>] = []
    for _ in 0..<count {
      connections.append(CoreLock(try SQLiteConnection(path: path, patience: patience)))
    }
    self.connections = connections
  }

  /// Lends a connection for as long as `body` runs. A body must not ask for another one.
  func lend<R: Sendable>(
    _ body: (SQLiteConnection) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let first = next.wrappingAdd(1, ordering: .relaxed).oldValue & .max
    for offset in connections.indices {
      let connection = connections[(first &+ offset) & .max % connections.count]
      let result = try connection.withLockIfFree { (connection) throws(StoreError) -> R in
        try body(connection)
      }
      if let result { return result }
    }
    return try connections[first % connections.count].withLock { (connection) throws(StoreError) in
      try body(connection)
    }
  }
}
