// SPDX-License-Identifier: Apache-2.0

internal import DurableFiles
public import ProofModel

/// Keeps what a connection must remember across restarts, for one piece of hardware.
public protocol LinkMemoryStore: Sendable {
  /// The bytes saved last; nil for none.
  func load() throws -> [UInt8]?

  /// Saves bytes. They are durable when this returns: a command leaves only after that.
  func save(_ bytes: [UInt8]) throws
}

/// Keeps a connection's memory in a file. A power cut leaves the old memory or the new one.
public struct LinkMemoryFile: LinkMemoryStore {
  private let folder: String
  private let name: String

  /// Names the file. It is made when there is something to keep.
  ///
  /// - Parameters:
  ///   - folder: A folder that belongs to this user alone, such as the probe's storage.
  ///   - hardware: The hardware.
  public init(in folder: String, for hardware: HardwareID) {
    self.folder = folder
    name = "link-\(hardware)"
  }

  /// The bytes saved last; nil for none.
  public func load() throws -> [UInt8]? {
    try DurableFolder(LiveFolder(folder)).read(name, limit: LinkMemory.byteCountMax)
  }

  /// Saves bytes durably.
  public func save(_ bytes: [UInt8]) throws {
    let folder = try DurableFolder(LiveFolder(folder))
    do throws(DurableFolder.Failure) {
      try folder.replace(name, with: bytes)
    } catch {
      switch error {
      case .unchanged(let failure), .notDurable(let failure): throw failure
      }
    }
  }
}
