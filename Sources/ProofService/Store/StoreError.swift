// SPDX-License-Identifier: Apache-2.0

/// The reason why the store failed.
public enum StoreError: Error, Sendable, Hashable {
  /// The path has no store.
  case missing(path: String)
  /// The file is not a store of this service.
  case foreign(path: String)
  /// The store's file is damaged.
  case damaged(path: String, detail: String)
  /// A newer version of the service wrote the store.
  case tooNew(path: String, version: Int, known: Int)
  /// Another process kept the store locked for too long.
  case busy(path: String)
  /// The disk is full.
  case full(path: String)
  /// The store cannot be read or written.
  case failed(path: String, detail: String)
  /// The database at this address cannot be used.
  case database(String, detail: String)
  /// The account was moved to another store, or its move was begun.
  case moved(path: String, to: String)
  /// A row that should be new exists.
  case alreadyThere(table: StoreTable, key: String)
  /// A row is not the one that was read before.
  case changedMeanwhile(table: StoreTable, key: String)
}

extension StoreError: CustomStringConvertible {
  /// The failure, its place and the next step, as text.
  public var description: String {
    switch self {
    case .missing(let path):
      "No store is at \(path). Check the path, or make one with “proofctl init”."
    case .foreign(let path):
      "\(path) is not a store of this service. Check the path; nothing was changed."
    case .damaged(let path, let detail):
      "The store \(path) is damaged (\(detail)). Stop the service, keep the file, and restore a "
        + "backup."
    case .tooNew(let path, let version, let known):
      "The store \(path) has version \(version) and this program knows \(known). Update the "
        + "program; nothing was changed."
    case .busy(let path):
      "The store \(path) is locked by another process. Stop that one, or try again."
    case .full(let path):
      "No room is left for the store \(path). Free some; what was confirmed is kept."
    case .failed(let path, let detail):
      "The store \(path) cannot be used: \(detail). Check that the folder exists and that this "
        + "user may write there."
    case .database(let address, let detail):
      "The database \(address) cannot be used: \(detail)."
    case .moved(let path, let place):
      "The account of \(path) was moved to \(place). Use that store. If the move was cut, give the "
        + "same “proofctl store move” again."
    case .alreadyThere(let table, let key):
      "The row “\(key)” exists in the table “\(table)” already. Remove it first, or choose "
        + "another name."
    case .changedMeanwhile(let table, let key):
      "Somebody else changed the row “\(key)” in the table “\(table)” at the same time. Try again."
    }
  }
}
