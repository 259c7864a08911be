// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE

/// Where the service is for the apps of one region.
public struct RegionAddresses: Sendable, Hashable {
  /// The address, such as `https://attest.abroad.example.com`.
  public let url: String
  /// The address to use while ``url`` does not answer; nil for none.
  public let failover: String?

  /// The most regions of an account, beside its home.
  public static let countMax = 32
  /// The name of the region that every account has.
  public static let home = "home"

  /// Checks addresses.
  ///
  /// - Parameters:
  ///   - url: `https://HOST` or `https://HOST:PORT`.
  ///   - failover: Another such address, or nil.
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``.
  public init(url: String, failover: String? = nil) throws(ServiceError) {
    self.url = try ServiceURL.checked(url)
    self.failover = try failover.map { url throws(ServiceError) in try ServiceURL.checked(url) }
    try Self.checkDifferent(self.url, self.failover)
  }

  /// A fail-over address that is the first address would only make an app wait twice.
  static func checkDifferent(_ url: String, _ failover: String?) throws(ServiceError) {
    guard let failover, failover == url else { return }
    throw .invalid(
      "fail-over address", value: String(failover.prefix(120)),
      allowed: "another address than the first one")
  }

  /// Checks a region's name.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``.
  static func check(name: String) throws(ServiceError) {
    let isPlain = name.utf8.allSatisfy { byte in
      (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
    }
    guard (1...32).contains(name.utf8.count), isPlain, name != home else {
      throw .invalid(
        "region", value: String(name.prefix(80)),
        allowed: "1 to 32 characters of a-z, 0-9 and -; not home, which `config url` and "
          + "`config failover` set")
    }
  }

  /// Regions as JSON, under the name that a document or a claim has for the fail-over address.
  static func object(
    _ regions: [String: RegionAddresses], failover name: String = "failover"
  ) -> JSONObject {
    var object = JSONObject()
    for (region, addresses) in regions {
      var members: JSONObject = ["url": .string(addresses.url)]
      members.set(name, addresses.failover)
      object[region] = .object(members)
    }
    return object
  }

  /// Reads the output of ``object(_:failover:)``; nil for anything else.
  static func read(_ value: JSONValue) -> [String: RegionAddresses]? {
    guard case .object(let object) = value else { return nil }
    var regions: [String: RegionAddresses] = [:]
    for (name, value) in object.members {
      guard case .object(let members) = value, let url = members.text("url"),
        (try? check(name: name)) != nil,
        let addresses = try? RegionAddresses(url: url, failover: members.text("failover"))
      else { return nil }
      regions[name] = addresses
    }
    return regions
  }
}
