// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import ProofService

/// The hardware of a verb's account, in its store or behind a service.
struct NamedAccountHardware: HardwareRegistry {
  let access: AccountAccess
  /// Opens factory secrets; nil if none was given.
  var factoryKey: FactoryKey?

  func hardware(_ id: HardwareID) throws(BackendError) -> RegisteredHardware? {
    let place = "the account's hardware"
    let listed: JSONValue
    do { listed = try access.perform("hardware/list") } catch {
      throw .storage(path: place, reason: "\(error)")
    }
    guard case .array(let entries) = listed else {
      throw .damaged(path: place, reason: "the service answered with something else than a list")
    }
    for case .object(let fields) in entries where fields.text("id") == id.description {
      guard let hardware = RegisteredHardware(key: id.description, fields: fields) else {
        throw .damaged(path: place, reason: "the entry of \(id) does not parse")
      }
      return hardware
    }
    return nil
  }

  func factorySecret(of hardware: RegisteredHardware) throws(BackendError) -> FactorySecret? {
    guard let factoryKey else { return nil }
    let id = hardware.identity.id
    let answer: JSONValue
    do {
      answer = try access.perform("hardware/sealed-secret", ["id": .string(id.description)])
    } catch {
      throw .storage(path: "the factory secret of \(id)", reason: "\(error)")
    }
    guard case .object(let fields) = answer, let text = fields.text("sealed") else { return nil }
    return try factoryKey.secret(Base64.decode(text) ?? [], of: id)
  }
}
