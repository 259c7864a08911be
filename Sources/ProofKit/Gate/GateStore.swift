// SPDX-License-Identifier: Apache-2.0

internal import DurableFiles
import ProofModel

/// Keeps the newest admission of each gate in a folder of the app, across restarts.
///
/// An admission has a file of its own. The pair of a ``MeasurementStore`` may stand in the same
/// folder, and is never read or written here. A file is replaced atomically, and is open to this
/// user alone. Several processes may use the same folder. The file holds no key of requests: a
/// fresh measurement is needed to derive those.
package struct GateStore: Sendable, Hashable {
  /// The folder.
  package let folder: String

  /// Describes a store.
  ///
  /// - Parameter folder: The folder, made if it is missing. Other users must not be able to write
  ///   in it.
  package init(folder: String) { self.folder = folder }

  private static let lockName = "gate.lock"

  /// An admission, and the time when the app asked for it.
  struct Kept: Sendable, Hashable {
    let admitted: Admitted
    let obtained: UnixTime
  }

  /// The file of one account's gate: named by a digest, so that no two share one.
  static func fileName(of account: String, at host: APIAuthority) -> String {
    "gate-" + Digest(hashing: Array("\(account)\n\(host.text)".utf8)).description.prefix(16)
  }

  /// Reads what is kept. A file that is damaged, or of another version, counts as none.
  func read(_ account: String, _ host: APIAuthority) throws(GateError) -> Kept? {
    do throws(FileFailure) {
      let durable = DurableFolder(try LiveFolder(folder))
      return try durable.read(
        Self.fileName(of: account, at: host), limit: Kept.byteCountMax
      ).flatMap(Kept.init)
    } catch {
      throw .storageUnusable(reason: "\(folder): \(error)")
    }
  }

  /// Replaces what is kept. A newer generation of the same gate stays, and while another process writes, its
  /// admission counts.
  func write(_ kept: Kept, _ account: String, _ host: APIAuthority) throws(GateError) {
    do throws(FileFailure) {
      let durable = DurableFolder(try LiveFolder(folder))
      guard let lock = try lock() else { return }
      try withExtendedLifetime(lock) { () throws(FileFailure) in
        let name = Self.fileName(of: account, at: host)
        let stored = try durable.read(name, limit: Kept.byteCountMax).flatMap(Kept.init)
        if let stored = stored?.admitted, stored.instance == kept.admitted.instance,
          stored.admission.gate == kept.admitted.admission.gate,
          stored.admission.generation > kept.admitted.admission.generation
        {
          return
        }
        do throws(DurableFolder.Failure) {
          try durable.replace(name, with: kept.bytes)
        } catch {
          switch error {
          case .unchanged(let failure), .notDurable(let failure): throw failure
          }
        }
      }
    } catch {
      throw .storageUnusable(reason: "\(folder): \(error)")
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
}

/// The file: docs/SPEC.md, section 13.
extension GateStore.Kept {
  private static let magic = Array("PKGA".utf8)
  private static let version: UInt8 = 1
  private static let label = Array("pfs1.admission..".utf8)
  private static let head = 56

  /// The longest file.
  static let byteCountMax =
    head + MeasurementConfig.byteCountMax + GateAdmission.byteCountMax + Digest.byteCount

  /// The file's bytes.
  var bytes: [UInt8] {
    let config = admitted.config.bytes
    let admission = admitted.admission.bytes
    var bytes = Self.magic + [Self.version, 0]
    bytes += UInt16(config.count).littleEndianBytes
    bytes += UInt32(admission.count).littleEndianBytes
    bytes += [0, 0, 0, 0] + obtained.seconds.littleEndianBytes
    bytes += admitted.instance.bytes + admitted.handle.bytes + config + admission
    return bytes + Self.check(of: bytes[...])
  }

  /// Reads a file's bytes; nil for others than ``bytes`` makes.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.head + Digest.byteCount, bytes.count <= Self.byteCountMax,
      bytes[..<4].elementsEqual(Self.magic), bytes[4] == Self.version,
      Self.check(of: bytes.dropLast(Digest.byteCount)) == Array(bytes.suffix(Digest.byteCount))
    else { return nil }
    let configEnd = Self.head + Int(littleEndianBytes: bytes[6..<8])
    let end = configEnd + Int(littleEndianBytes: bytes[8..<12])
    guard end == bytes.count - Digest.byteCount, configEnd <= end,
      let config = try? MeasurementConfig(Array(bytes[Self.head..<configEnd])),
      let admission = try? GateAdmission(Array(bytes[configEnd..<end])),
      let instance = try? InstanceID(Array(bytes[24..<40])),
      let handle = try? GateHandle(Array(bytes[40..<56])),
      config.generation == admission.generation
    else { return nil }
    self.init(
      admitted: Admitted(
        admission: admission, config: config, instance: instance, handle: handle, serverTime: nil),
      obtained: UnixTime(seconds: Int64(littleEndianBytes: bytes[16..<24])))
    // One admission has one spelling.
    guard self.bytes == bytes else { return nil }
  }

  /// SHA-256 detects damage only. A program that may write here can forge the file, but a forged
  /// admission opens nothing.
  private static func check(of bytes: ArraySlice<UInt8>) -> [UInt8] {
    Digest(hashing: Self.label + bytes).bytes
  }
}
