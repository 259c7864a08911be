// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// The secure strings that one installation of an app defined for itself: one row, each string
/// sealed by itself.
struct DeviceStrings {
  /// The longest value that an answer can carry.
  static let valueMax = 65_535
  /// The most strings that one installation may define.
  static let countMax = 32
  /// The longest row, in bytes: well below the limit of the JSON parser.
  static let bytesMax = 131_072

  private let device: InstanceID
  private let vault: Vault
  private var sealed: JSONObject

  init(of device: InstanceID, _ service: AttestationService) throws(Refusal) {
    self.device = device
    vault = service.account.vault
    let row = try service.store { (store) throws(StoreError) in
      try store.row(device.description, of: .deviceString)
    }
    guard let row else {
      sealed = JSONObject()
      return
    }
    guard case .object(let object) = try? JSONValue(parsing: row.span) else {
      throw .unanswered("A row of a device's strings is damaged.")
    }
    sealed = object
  }

  private func place(of name: String) -> String { "device/\(device)/\(name)" }

  /// The value of a name; nil if the installation defined none.
  func value(of name: String) throws(Refusal) -> String? {
    guard let bytes = sealed.bytes(name) else { return nil }
    do { return try vault.text(bytes, for: place(of: name)) } catch {
      throw .unanswered("A device's string cannot be read. \(error)")
    }
  }

  /// Defines a name, or removes it if the value is empty.
  ///
  /// - Returns: Whether there was room.
  mutating func set(_ name: String, to value: String) -> Bool {
    guard !value.isEmpty else {
      sealed[name] = nil
      return true
    }
    var changed = sealed
    changed.set(name, vault.seal(Array(value.utf8).span, for: place(of: name)))
    guard changed.members.count <= Self.countMax,
      JSONValue.object(changed).text.utf8.count <= Self.bytesMax
    else { return false }
    sealed = changed
    return true
  }

  /// The change to store together with the sighting of the device: its version covers this row.
  var change: DeviceSighting.StringsChange {
    sealed.members.isEmpty ? .remove : .put(Array(JSONValue.object(sealed).text.utf8))
  }

  /// The new definition in a report; nil if it only asks, or has another purpose.
  static func definition(
    in subject: AttestationReport.Subject
  ) throws(Refusal) -> String? {
    guard subject.purpose == .secureString else { return nil }
    let payload = subject.payload
    switch payload.first {
    case 0 where payload.count == 1: return nil
    case 1:
      // A payload has 64 KiB at most, and so a definition `valueMax` bytes.
      guard let text = String(validating: payload.dropFirst(), as: UTF8.self) else {
        throw .malformed("The new definition is not UTF-8.")
      }
      return text
    default:
      throw .malformed("The payload of a secure string begins with 0 (leave) or 1 (define).")
    }
  }
}
