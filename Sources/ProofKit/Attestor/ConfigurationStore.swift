// SPDX-License-Identifier: Apache-2.0

internal import DurableFiles
import ProofModel

/// Keeps the newest configuration of each account in a folder of the app, across restarts.
///
/// A file is replaced atomically, is open to this user alone, and is checked against the account's
/// fingerprint when it is read. A file that fails the check is renamed to end in `.damaged-1` or a
/// higher number, and the app continues as if there were none. Several processes may use the same
/// folder.
package struct ConfigurationStore: Sendable, Hashable {
  /// The folder.
  package let folder: String

  /// Describes a store.
  ///
  /// - Parameter folder: The folder, made if it is not there. Other users must not be able to write
  ///   in it.
  package init(folder: String) { self.folder = folder }

  private static let lockName = "configuration.lock"

  /// The file of an account: named by a digest, so that no two accounts share one.
  static func fileName(of account: String) -> String {
    "configuration-" + Digest(hashing: Array(account.utf8)).description.prefix(16)
  }

  /// The state that the last start stored.
  enum Stored {
    /// Nothing, or a damaged file: this is the first start.
    case nothing
    /// A mark of a start that got no configuration.
    case start
    case configuration(AccountConfiguration)
  }

  private enum Found {
    case nothing
    case damaged
    case good(Stored)
  }

  func read(_ initial: InitialConfiguration) throws(SetupError) -> Stored {
    do throws(FileFailure) {
      let durable = DurableFolder(try LiveFolder(folder))
      switch try find(initial, in: durable) {
      case .good(let stored): return stored
      case .nothing: return .nothing
      case .damaged: break
      }
      // Check again under the lock, because another process may be replacing the file.
      guard let lock = try lock() else { return .nothing }
      return try withExtendedLifetime(lock) { () throws(FileFailure) in
        switch try find(initial, in: durable) {
        case .good(let stored): return stored
        case .nothing: return .nothing
        case .damaged:
          _ = try durable.setAside(Self.fileName(of: initial.account))
          return .nothing
        }
      }
    } catch {
      throw unusable(error)
    }
  }

  private func find(
    _ initial: InitialConfiguration, in durable: DurableFolder
  ) throws(FileFailure) -> Found {
    let name = Self.fileName(of: initial.account)
    let limit = AccountConfiguration.byteCountMax
    guard let bytes = try durable.read(name, limit: limit) else { return .nothing }
    guard let text = String(validating: bytes, as: UTF8.self) else { return .damaged }
    if text == initial.text {
      return .good(initial.configuration.map(Stored.configuration) ?? .start)
    }
    if let stored = try? initial.update(text, held: nil) { return .good(.configuration(stored)) }
    // The file is from an app that was built with another short form.
    let isShortForm = text.hasPrefix("#") && (try? InitialConfiguration(text)) != nil
    return isShortForm ? .nothing : .damaged
  }

  /// Replaces the stored text with a configuration, or with the text that the SDK was initialised
  /// with. A newer stored configuration stays.
  ///
  /// - Throws: ``SetupError/storeUnusable(reason:)``, also while another process replaces it.
  func write(
    _ text: String, serial: UInt32, of initial: InitialConfiguration
  ) throws(SetupError) {
    do throws(FileFailure) {
      let durable = DurableFolder(try LiveFolder(folder))
      guard let lock = try lock() else { throw FileFailure.busy(Self.lockName) }
      try withExtendedLifetime(lock) { () throws(FileFailure) in
        switch try find(initial, in: durable) {
        case .good(.configuration(let stored)) where stored.serial > serial: return
        case .good, .nothing: break
        case .damaged: _ = try durable.setAside(Self.fileName(of: initial.account))
        }
        do throws(DurableFolder.Failure) {
          try durable.replace(Self.fileName(of: initial.account), with: Array(text.utf8))
        } catch {
          switch error {
          case .unchanged(let failure), .notDurable(let failure): throw failure
          }
        }
      }
    } catch {
      throw unusable(error)
    }
  }

  /// The right to change files here; nil while another process has it.
  private func lock() throws(FileFailure) -> FolderLock? {
    do throws(FolderLock.Refusal) {
      return try FolderLock(folder + "/" + Self.lockName)
    } catch {
      switch error {
      case .held: return nil
      case .failed(let failure): throw failure
      }
    }
  }

  private func unusable(_ failure: FileFailure) -> SetupError {
    .storeUnusable(reason: "\(folder): \(failure)")
  }
}

/// The folder of everything that the SDK keeps.
enum StorageFolder {
  /// Makes the folder with mode 0700 if it is missing, and checks that no other user can write in it.
  static func make(_ path: String) throws(SetupError) {
    do throws(FileFailure) {
      _ = try LiveFolder(path)
    } catch {
      throw .storeUnusable(reason: "\(path): \(error)")
    }
  }
}
