// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The configuration an app is built with: a signed one, or the key that may sign one and where to
/// get it.
struct InitialConfiguration: Sendable, Hashable {
  let text: String
  let account: String
  let fingerprint: Digest
  /// The signed configuration; nil for the short form.
  let configuration: AccountConfiguration?
  /// The address to ask for a configuration while there is none.
  let serviceURL: String

  init(_ text: String) throws(SetupError) {
    self.text = text
    guard !text.isEmpty else { throw .malformedConfiguration(reason: Self.emptyReason) }
    guard text.hasPrefix("#") else {
      let configuration = try AccountConfiguration(text)
      self.configuration = configuration
      account = configuration.account
      fingerprint = AccountConfiguration.fingerprint(of: configuration.key)
      serviceURL = configuration.serviceURL
      return
    }
    let parts = text.split(separator: "#", omittingEmptySubsequences: false)
    guard parts.count == 3, let at = parts[1].firstIndex(of: "@") else {
      throw .malformedConfiguration(reason: "it is not of the form #ACCOUNT@HOST:PORT#FINGERPRINT")
    }
    account = String(parts[1][..<at])
    guard Self.isAccount(account) else {
      throw .malformedConfiguration(
        reason: "the account is empty, too long, or has other characters than a-z A-Z 0-9 . _ -")
    }
    let host = parts[1][parts[1].index(after: at)...]
    guard !host.contains("/"), let address = ServiceAddress(url: "https://" + host) else {
      throw .malformedConfiguration(reason: "HOST:PORT is no host with or without a port")
    }
    serviceURL = address.url
    guard let bytes = Base64.decode(String(parts[2])), let digest = try? Digest(bytes) else {
      throw .malformedConfiguration(reason: "the fingerprint is not 32 bytes in base64")
    }
    fingerprint = digest
    configuration = nil
  }

  static let emptyReason = "it is empty"

  /// Whether a name is a valid account name, which request paths contain unescaped.
  static func isAccount(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count) && name != "." && name != ".."
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  /// Reads an update for this account. It must be signed by the key of the present configuration,
  /// or by one that this key has handed over to. It must be of the same account, and not older.
  func update(
    _ text: String, held: AccountConfiguration?
  ) throws(SetupError) -> AccountConfiguration {
    let trusted = held.map { AccountConfiguration.fingerprint(of: $0.key) } ?? fingerprint
    let update = try AccountConfiguration(text, signedBy: trusted)
    guard update.account == account else {
      throw .configurationOfAnotherAccount(expected: account, actual: update.account)
    }
    if let held, update.serial < held.serial {
      throw .configurationTooOld(serial: update.serial, held: held.serial)
    }
    return update
  }
}
