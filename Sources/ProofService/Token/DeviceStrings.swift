internal import ProofJOSE
internal import ProofModel

/// The secure strings that one installation of an app defined for itself: one row, sealed one by one.
struct DeviceStrings {
  /// The longest value: what an answer can carry.
  static let valueMax = 65_535
  /// How many one installation may define.
  static let countMax = 32
  /// How long its row may be: well within what the parser of JSON takes.
  static let bytesMax = 131_072

  private let device: DeviceID
  private let vault: Vault
  private var sealed: JSONObject

  init(of device: DeviceID, _ service: AttestationService) throws(Refusal) {
    self.device = device
    vault = service.account.vault
    let row = try service.store { (store) throws(StoreError) in
      try store.row(device.description, of: .deviceString)
    }
    guard let row else {
      sealed = JSONObject()
      return
    }
    guard case .object(let object) = try? JSONValue(parsing: row.span) else { throw .failed }
    sealed = object
  }

  private func place(of name: String) -> String { "device/\(device)/\(name)" }

  /// The value of a name; nil if the installation defined none.
  func value(of name: String) throws(Refusal) -> String? {
    guard let bytes = sealed.bytes(name) else { return nil }
    do { return try vault.text(bytes, for: place(of: name)) } catch { throw .failed }
  }

  /// Defines a name, or with an empty value forgets it.
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

  /// What makes the store agree.
  var change: StoreChange {
    sealed.members.isEmpty
      ? .remove(.deviceString, device.description)
      : .put(
        .deviceString, device.description, Array(JSONValue.object(sealed).text.utf8))
  }
}
