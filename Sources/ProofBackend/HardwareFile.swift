import DurableFiles
import ProofJOSE
public import ProofModel

/// A registry in a file, for backends with up to some thousand pieces of hardware.
///
/// The file is JSON that `proofctl` writes and people can read; it holds public keys alone. A change
/// counts from the next question on.
public final class HardwareFile: HardwareRegistry {
  private typealias Known = (bytes: [UInt8], hardware: [HardwareID: RegisteredHardware])

  private let path: String
  private let name: String
  private let folder: DurableFolder
  private let known = CoreLock<Known>(([], [:]))

  static let byteCountMax = 16 << 20

  /// A registry in a file, which need not be there yet.
  ///
  /// - Parameter path: The file. Its folder must belong to this user, and is made if it is not there.
  /// - Throws: ``BackendError/storage(path:reason:)``.
  public init(_ path: String) throws(BackendError) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let parent = parts.count > 1 ? parts.dropLast().joined(separator: "/") : "."
    self.path = path
    name = String(parts.last ?? "")
    do throws(FileFailure) {
      folder = DurableFolder(try LiveFolder(parent.isEmpty ? "/" : parent))
    } catch {
      throw .storage(path: path, reason: error.description)
    }
  }

  /// Looks hardware up.
  public func hardware(_ id: HardwareID) throws(BackendError) -> RegisteredHardware? {
    try read()[id]
  }

  /// All hardware, in order of its names.
  public func all() throws(BackendError) -> [RegisteredHardware] {
    try read().values.sorted { $0.identity.id.description < $1.identity.id.description }
  }

  /// Registers hardware, or changes what is known about it.
  ///
  /// - Parameter hardware: What is to be known.
  /// - Throws: ``BackendError/inUse(path:processID:)``, ``BackendError/storage(path:reason:)``,
  ///   ``BackendError/damaged(path:reason:)``.
  public func set(_ hardware: RegisteredHardware) throws(BackendError) {
    let lock: FolderLock
    do throws(FolderLock.Refusal) {
      lock = try FolderLock(path + ".lock")
    } catch {
      switch error {
      case .held(let processID): throw .inUse(path: path, processID: processID)
      case .failed(let failure): throw .storage(path: path, reason: failure.description)
      }
    }
    var changed = try read()
    changed[hardware.identity.id] = hardware
    do throws(DurableFolder.Failure) {
      try folder.replace(name, with: Self.bytes(of: changed))
    } catch {
      switch error {
      case .unchanged(let failure), .notDurable(let failure):
        throw .storage(path: path, reason: failure.description)
      }
    }
    // Until here nobody else reads, changes and writes.
    withExtendedLifetime(lock) {}
  }

  private func read() throws(BackendError) -> [HardwareID: RegisteredHardware] {
    let bytes: [UInt8]
    do throws(FileFailure) {
      bytes = try folder.read(name, limit: Self.byteCountMax) ?? []
    } catch {
      throw .storage(path: path, reason: error.description)
    }
    let result = known.withLock { known -> Result<Known, BackendError> in
      if known.bytes == bytes { return .success(known) }
      guard let hardware = Self.parse(bytes) else {
        return .failure(.damaged(path: path, reason: "it is not a list of hardware"))
      }
      known = (bytes, hardware)
      return .success(known)
    }
    return try result.get().hardware
  }

  private static func bytes(of hardware: [HardwareID: RegisteredHardware]) -> [UInt8] {
    let entries = hardware.values
      .sorted { $0.identity.id.description < $1.identity.id.description }
      .map { hardware -> JSONValue in
        [
          "id": .string(hardware.identity.id.description),
          "publicKey": .string(hardware.identity.publicKey.description),
          "mode": .string(hardware.mode.word), "literal": .bool(hardware.allowsLiteral),
          "name": .string(hardware.name), "revoked": .bool(hardware.isRevoked),
        ]
      }
    let document: JSONValue = ["version": 1, "hardware": .array(entries)]
    return Array((document.text + "\n").utf8)
  }

  /// Nil for anything that this type did not write.
  private static func parse(_ bytes: [UInt8]) -> [HardwareID: RegisteredHardware]? {
    if bytes.isEmpty { return [:] }
    guard case .object(let document)? = try? JSONValue(parsing: bytes.span),
      document["version"] == 1, case .array(let entries)? = document["hardware"]
    else { return nil }
    var hardware: [HardwareID: RegisteredHardware] = [:]
    for entry in entries {
      guard case .object(let entry) = entry, case .string(let idText)? = entry["id"],
        case .string(let keyText)? = entry["publicKey"], case .string(let mode)? = entry["mode"],
        case .bool(let literal)? = entry["literal"], case .bool(let revoked)? = entry["revoked"],
        case .string(let name)? = entry["name"], let idBytes = HexadecimalText.bytes(idText),
        let keyBytes = HexadecimalText.bytes(keyText), let id = try? HardwareID(idBytes),
        let key = try? HardwarePublicKey(keyBytes), let mode = Mode(word: mode),
        hardware[id] == nil
      else { return nil }
      hardware[id] = RegisteredHardware(
        HardwareIdentity(id: id, publicKey: key), mode: mode, allowsLiteral: literal, name: name,
        isRevoked: revoked)
    }
    return hardware
  }
}

extension Mode {
  /// The mode's name in files and claims.
  var word: String {
    switch self {
    case .production: "production"
    case .development: "development"
    }
  }

  init?(word: String) {
    guard let mode = Mode.allCases.first(where: { $0.word == word }) else { return nil }
    self = mode
  }
}

/// Hexadecimal as people type it.
package enum HexadecimalText {
  /// The bytes, or nil for an odd number of digits or anything else than digits.
  package static func bytes(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x41...0x46: digit - 0x41 + 10
    case 0x61...0x66: digit - 0x61 + 10
    default: nil
    }
  }
}
