// SPDX-License-Identifier: Apache-2.0

import DurableFiles

extension MeasurementStore {
  /// Reads a folder's content, for tools that look at an app from outside. It changes nothing: a
  /// damaged file stays where it is, and a running app keeps its lock.
  ///
  /// - Parameter path: The folder, which must exist.
  /// - Returns: The pair, or nil if there is none.
  /// - Throws: ``MeasurementStoreError``.
  package static func inspect(
    folder path: String
  ) throws(MeasurementStoreError) -> StoredMeasurement? {
    let bytes: [UInt8]?
    do throws(FileFailure) {
      bytes = try DurableFolder(LiveFolder(path)).read(
        fileName, limit: StoredMeasurement.Layout.byteCountMax)
    } catch {
      throw .failed(path: path, reason: error.description)
    }
    guard let bytes else { return nil }
    do throws(StoredMeasurement.Damage) {
      return try StoredMeasurement(parsing: bytes)
    } catch {
      if case .tooNew(let version) = error { throw .tooNew(version: version) }
      throw .damaged(keptAs: fileName, byteCount: bytes.count)
    }
  }
}
