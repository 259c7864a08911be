// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel

/// The files of an installed app: the shipped ones, which are measured, and the stored ones.
struct AppHome {
  private let folder: URL

  init(_ path: String) { folder = URL(fileURLWithPath: path) }

  /// The bundle: everything that was shipped with the app.
  var bundle: String { folder.appendingPathComponent("app").path }
  /// The app's storage, open to its user alone.
  var storage: String { folder.appendingPathComponent("storage").path }
  /// The folder of the measurement and its token, which outlive the process.
  var measurement: String { storage + "/measurement" }

  /// The account configuration that the app is initialised with.
  func account() throws -> String { try shipped("account") }
  /// The certificates of the authorities that the app accepts for the service.
  var authority: String { bundle + "/authority.pem" }
  /// The backend's address.
  func backend() throws -> String { try shipped("backend") }
  /// The host of the protected API, as the account knows it.
  func api() throws -> String { try shipped("api") }

  /// Stores a part of the lock's log, which the phone cannot read.
  func store(_ part: [UInt8], ofLogFrom first: UInt64) throws {
    let log = folder.appendingPathComponent("log")
    try FileManager.default.createDirectory(at: log, withIntermediateDirectories: true)
    try Data(part).write(to: log.appendingPathComponent("\(first).part"), options: .atomic)
  }

  /// The user of this phone, and the secret to sign in with.
  func user() throws -> (name: String, secret: String) {
    let words = try text("paired/user").split(separator: " ").map(String.init)
    guard words.count == 2 else {
      throw AppFailure("paired/user does not have a name and a secret")
    }
    return (words[0], words[1])
  }

  /// The paired hardware.
  func hardware() throws -> HardwareID {
    try HardwareID(text("paired/hardware"))
  }

  /// The address at which the paired hardware listens.
  func link() throws -> String { try text("paired/link") }

  private func shipped(_ name: String) throws -> String { try text("app/\(name)") }

  private func text(_ name: String) throws -> String {
    let file = folder.appendingPathComponent(name)
    guard let text = try? String(contentsOf: file, encoding: .utf8) else {
      throw AppFailure(
        "\(file.path) cannot be read: `proof-demo --prepare FOLDER` makes a home for the app")
    }
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

/// The reason why the app cannot carry out a verb.
struct AppFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
