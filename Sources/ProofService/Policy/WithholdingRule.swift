// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

// The rule of an account about facts that apps withhold.

extension CollectionMode {
  /// Reads names of facts between commas, such as `basic,extra`; `none` and `all` stand for themselves.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``.
  init(parsing text: String) throws(ServiceError) {
    switch text {
    case "none": self = []
    case "all": self = .notGranted
    default:
      var mode: CollectionMode = []
      for name in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let found = Self.names.first(where: { $0.name == name }) else {
          throw .invalid(
            "facts that apps may withhold", value: String(text.prefix(80)),
            allowed: "none, all, or basic, unique, extra between commas")
        }
        mode.formUnion(found.mode)
      }
      self = mode
    }
  }

  /// The properties of an app that withholds these facts.
  var properties: Properties {
    var properties: Properties = []
    if contains(.withoutBasicFacts) { properties.insert(.withheldBasic) }
    if contains(.withoutUniqueIdentifiers) { properties.insert(.withheldUnique) }
    if contains(.withoutExtras) { properties.insert(.withheldExtra) }
    return properties
  }

  /// The properties that reject where an app may withhold these facts alone.
  var rejection: Properties { CollectionMode.notGranted.subtracting(self).properties }
}
