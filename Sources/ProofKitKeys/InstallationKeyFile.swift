// SPDX-License-Identifier: Apache-2.0

internal import DurableFiles
package import ProofKit
package import ProofModel

/// The file of an installation's key, in the app's storage: mode 0600, replaced atomically.
///
/// `"PI" ‖ u8(version = 1) ‖ u8(place) ‖ 32 bytes ‖ public half 64`. The 32 bytes are the private number
/// (place 1), or the caller's part of a key in a TPM (place 2).
package struct InstallationKeyFile: Sendable {
  /// The name in the folder.
  package static let name = "installation-key"

  package let folder: String
  package var path: String { "\(folder)/\(Self.name)" }

  package init(folder: String) { self.folder = folder }

  /// The file's contents.
  package struct Contents: Sendable {
    package let place: InstallationKeyPlace
    package let secret: CoreSecret
    package let point: InstallationPoint

    package init(_ place: InstallationKeyPlace, _ secret: CoreSecret, _ point: InstallationPoint) {
      self.place = place
      self.secret = secret
      self.point = point
    }

    /// Reads the file's bytes; nil if they are malformed. A private number must match the public
    /// half.
    package init?(_ bytes: [UInt8]) {
      guard bytes.count == Layout.end, bytes.starts(with: Layout.magic),
        let place = InstallationKeyPlace(rawValue: bytes[Layout.place]),
        let secret = CoreSecret(copying: bytes[Layout.secret..<Layout.point]),
        let point = try? InstallationPoint(Array(bytes[Layout.point...]))
      else { return nil }
      if place == .storage, secret.scalar?.point != point { return nil }
      self.init(place, secret, point)
    }
  }

  private enum Layout {
    static let magic: [UInt8] = [0x50, 0x49, 1]
    static let place = 3
    static let secret = 4
    static let point = secret + CoreSecret.byteCount
    static let end = point + InstallationPoint.byteCount
  }

  /// Reads the file; nil if it is missing.
  package func read() throws(InstallationKeyError) -> Contents? {
    var bytes: [UInt8]
    do throws(FileFailure) {
      bytes = try SecretFile.read(path, limit: Layout.end)
    } catch {
      if error.isMissing { return nil }
      if error.isTooLong { throw .damaged(path: path) }
      throw .storage(path: path, reason: error.reason)
    }
    defer { CoreSecret.wipe(&bytes) }
    guard let contents = Contents(bytes) else { throw .damaged(path: path) }
    return contents
  }

  /// Reads the file. If it is missing, makes it under a lock, so that one process alone makes it.
  package func readOrMake(
    _ make: () throws(InstallationKeyError) -> Contents
  ) throws(InstallationKeyError) -> Contents {
    if let contents = try read() { return contents }
    let access: LiveFolder
    do throws(FileFailure) { access = try LiveFolder(folder) } catch {
      throw .storage(path: path, reason: error.description)
    }
    let lock: FolderLock
    do throws(FolderLock.Refusal) { lock = try FolderLock(path + ".lock") } catch {
      switch error {
      case .held: throw .inUse(path: path)
      case .failed(let failure): throw .storage(path: path, reason: failure.description)
      }
    }
    defer { withExtendedLifetime(lock) {} }
    // Another process may have made it before this one got the lock.
    if let contents = try read() { return contents }
    let contents = try make()
    var bytes = Layout.magic + [contents.place.rawValue]
    bytes.reserveCapacity(Layout.end)
    contents.secret.append(to: &bytes)
    bytes += contents.point.bytes
    defer { CoreSecret.wipe(&bytes) }
    do throws(DurableFolder.Failure) {
      try DurableFolder(access).replace(Self.name, with: bytes)
    } catch {
      switch error {
      case .unchanged(let failure), .notDurable(let failure):
        throw .storage(path: path, reason: failure.description)
      }
    }
    return contents
  }
}
