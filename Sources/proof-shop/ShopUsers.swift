// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import ProofModel
import Synchronization

/// The shop's users: how they sign in, and how much money they have.
final class ShopUsers: Sendable {
  private struct User {
    let name: String
    var cents: Int
  }

  /// The users by the hash of the secret.
  private let users: Mutex<[Digest: User]>

  /// Reads a file with a user in each line: name, SHA-256 of the secret in hexadecimal, and the money in cents.
  init(file: String) throws {
    let bytes = try SecretFile.read(file, limit: 1 << 20)
    var users: [Digest: User] = [:]
    for (index, line) in String(decoding: bytes, as: UTF8.self).split(separator: "\n").enumerated()
    {
      let parts = line.split(separator: " ")
      guard parts.count == 3, let hash = Hexadecimal.decode(String(parts[1])),
        let digest = try? Digest(hash), let cents = Int(parts[2]), cents >= 0
      else { throw ShopFailure("\(file), user \(index + 1): write NAME SHA256 CENTS") }
      users[digest] = User(name: String(parts[0]), cents: cents)
    }
    self.users = Mutex(users)
  }

  /// The name of the user who signs in; nil for none.
  func name(of authorization: String?) -> String? {
    Self.key(of: authorization).flatMap { key in users.withLock { $0[key]?.name } }
  }

  /// Takes money from a user. Returns whether there was enough.
  func pay(_ cents: Int, from authorization: String?) -> Bool {
    guard let key = Self.key(of: authorization) else { return false }
    return users.withLock { users in
      guard let held = users[key]?.cents, held >= cents else { return false }
      users[key]?.cents = held - cents
      return true
    }
  }

  private static func key(of authorization: String?) -> Digest? {
    guard let authorization, authorization.hasPrefix("Bearer ") else { return nil }
    return Digest(hashing: Array(authorization.dropFirst("Bearer ".count).utf8))
  }
}

/// The reason why the shop cannot work.
struct ShopFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
