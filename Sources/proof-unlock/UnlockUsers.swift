// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import ProofBackend
import ProofModel

/// The users of this backend, and the hardware that each may use.
///
/// Each line has a name, the SHA-256 of the user's secret in hexadecimal, and hardware ids between
/// commas or `*`. The secret is at least 128 random bits, like a session's, so a plain hash of it
/// is safe to store.
struct UnlockUsers: Sendable {
  /// The header with the user's secret.
  static let header = "user-token"

  private struct Rights: Sendable {
    let user: UnlockGrant.User
    /// The hardware; nil for all.
    let hardware: Set<HardwareID>?
  }

  /// The rights by the hash of the secret.
  private let users: [Digest: Rights]

  init(file: String) throws {
    let bytes = try SecretFile.read(file, limit: 1 << 20)
    let text = String(decoding: bytes, as: UTF8.self)
    var users: [Digest: Rights] = [:]
    for (index, line) in text.split(separator: "\n").enumerated() {
      let parts = line.split(separator: " ")
      let place = "\(file), user \(index + 1)"
      guard parts.count == 3, let hash = Hexadecimal.decode(String(parts[1])),
        let digest = try? Digest(hash)
      else { throw UnlockUsersError(place, "write NAME SHA256 HARDWARE,…|*") }
      var hardware: Set<HardwareID>?
      if parts[2] != "*" {
        hardware = []
        for text in parts[2].split(separator: ",") {
          guard let id = try? HardwareID(String(text)) else {
            throw UnlockUsersError(place, "\(text) is no hardware id of 32 hexadecimal digits")
          }
          hardware?.insert(id)
        }
      }
      guard users[digest] == nil else { throw UnlockUsersError(place, "its secret is given twice") }
      users[digest] = Rights(user: UnlockGrant.User(String(parts[0])), hardware: hardware)
    }
    self.users = users
  }

  /// The user whose secret a request carries; nil if it is unknown.
  func user(of request: UnlockGrant.Request) -> UnlockGrant.User? {
    request.headers[Self.header].flatMap { users[Digest(hashing: Array($0.utf8))]?.user }
  }

  /// Whether the user may use the hardware.
  func mayUse(_ application: UnlockGrant.Application) -> Bool {
    users.values.contains { rights in
      rights.user == application.user && rights.hardware?.contains(application.hardware) ?? true
    }
  }
}

/// A line of the file of users that is invalid.
struct UnlockUsersError: Error, CustomStringConvertible {
  let description: String

  init(_ place: String, _ words: String) { description = "\(place): \(words)" }
}

extension UnlockGrant.User {
  /// The user of every request, if the operator chose `--anyone`.
  static let anyone = UnlockGrant.User("anyone")
}
