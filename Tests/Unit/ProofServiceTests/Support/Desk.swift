// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// An account with a gate, and calls of its verbs from JSON to JSON.
struct Desk {
  let world: GateBench
  var management: Management { world.bench.management }

  init() throws { world = try GateBench() }

  func value(_ verb: String, _ arguments: JSONObject = [:]) throws -> JSONValue {
    try management.perform(verb, arguments)
  }

  func object(_ verb: String, _ arguments: JSONObject = [:]) throws -> JSONObject {
    guard case .object(let object) = try value(verb, arguments) else {
      throw NoAdmission(outcome: .badPayload)
    }
    return object
  }

  func list(_ verb: String) throws -> [JSONObject] { try world.objects(value(verb)) }

  func done(_ verb: String, _ arguments: JSONObject = [:]) throws {
    #expect(try value(verb, arguments) == [:], "\(verb)")
  }

  func refused(
    _ verb: String, _ arguments: JSONObject, _ field: String, _ value: String, _ allowed: String
  ) throws {
    let before = try world.bench.store.revision()
    #expect(
      throws: ServiceError.invalid(field, value: value, allowed: allowed), "\(verb) \(arguments)"
    ) { try management.perform(verb, arguments) }
    #expect(try world.bench.store.revision() == before)
  }

  func missing(_ verb: String, _ arguments: JSONObject, _ field: String) throws {
    try refused(verb, arguments, field, "", "a text; it is missing")
  }

  /// A text of 81 characters, one more than a refusal repeats.
  static let long = String(repeating: "x", count: 81)
  /// The part of ``long`` that a refusal repeats.
  static var cut: String { String(long.dropLast()) }
}
