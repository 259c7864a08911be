// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
internal import ProofModel

/// The pins of one host, or of the trusted roots (`*`).
public struct HostPins: Record, Hashable {
  /// The host, or `*`.
  public var host: String
  /// Base64 of the SHA-256 of a SubjectPublicKeyInfo each; empty for a known host that is not
  /// pinned.
  public var pins: [String]

  /// The pins of a host.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``.
  public init(_ host: String, _ pins: [String]) throws(ServiceError) {
    self.host = try Host.checked(host, orRoots: true)
    for pin in pins { try Self.check(pin) }
    self.pins = pins
  }

  static func check(_ pin: String) throws(ServiceError) {
    guard Base64.decode(pin)?.count == 32 else {
      throw .invalid(
        "pin", value: String(pin.prefix(80)),
        allowed: "44 characters: base64 of the SHA-256 of a public key")
    }
  }

  /// The record's table.
  public static var table: StoreTable { .pin }
  /// The word that people use for the record, for errors.
  public static var noun: String { "pinned host" }
  /// The record's key in its table.
  public var key: String { host }

  /// The fields, all but the key.
  public var fields: JSONObject {
    var fields = JSONObject()
    fields.set("pins", pins)
    return fields
  }

  /// Reads the output of ``fields``; nil for anything else.
  public init?(key: String, fields: JSONObject) {
    guard let pins = fields.texts("pins"),
      let checked = try? Host.checked(key, orRoots: true)
    else { return nil }
    host = checked
    self.pins = pins
  }

  /// The public fields.
  public var shown: JSONObject {
    var shown = fields
    shown.set("host", host)
    return shown
  }
}
