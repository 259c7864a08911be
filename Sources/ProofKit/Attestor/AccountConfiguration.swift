// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The service's signed statement to the app about itself and the account's APIs. The initialiser
/// checks the signature.
public struct AccountConfiguration: Sendable, Hashable {
  /// The kind of tokens that an API needs.
  public enum Domain: String, Sendable {
    /// Requests to it need a token.
    case token
    /// Requests to it need a token, which may carry measurements.
    case measurement
    /// Requests to it need a proof: a gate is in front of it.
    case proof
    /// Requests to it need no token.
    case none
  }

  /// The longest configuration, in bytes.
  public static let byteCountMax = 65_536

  /// The account.
  public let account: String
  /// The serial; it grows with every change.
  public let serial: UInt32
  /// The time when it was made.
  public let issued: UnixTime
  /// The key that signed it.
  public let key: IssuerPublicKey
  /// The service's URL, with no slash at the end.
  public var serviceURL: String { serviceAddresses.url }
  /// The service's addresses at home.
  public let serviceAddresses: ServiceAddresses
  /// The service's addresses in the account's other regions, by the region's name.
  public let regions: [String: ServiceAddresses]
  /// The keys that the service may have. Empty means any key with a valid certificate.
  public let servicePins: [String]
  /// The keys that APIs may have, by host.
  public let pins: Pins
  /// The account's APIs, by host.
  public let domains: [String: Domain]
  /// The serial below which pins must be applied at once.
  public let forcedPinsSerial: UInt32
  /// The text it was read from: a JWS in compact form.
  public let text: String

  /// Reads a configuration and checks its signature.
  ///
  /// - Parameters:
  ///   - text: A JWS in compact form.
  ///   - fingerprint: The fingerprint of the key that must have signed, or of an earlier key that
  ///     the configuration's handovers lead from. nil takes the key that the configuration names:
  ///     for a configuration that is part of the app.
  /// - Throws: ``SetupError/malformedConfiguration(reason:)``,
  ///   ``SetupError/untrustedConfiguration(reason:)``.
  public init(_ text: String, signedBy fingerprint: Digest? = nil) throws(SetupError) {
    guard text.utf8.count <= Self.byteCountMax else {
      throw .malformedConfiguration(reason: "\(text.utf8.count) bytes, at most 65,536 are allowed")
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3 else {
      throw .malformedConfiguration(reason: "it is no JWS, which has three parts")
    }
    let header = try Self.object(parts[0], "header")
    guard header["alg"]?.text == "EdDSA", header["crit"] == nil else {
      throw .untrustedConfiguration(reason: "it is not signed with EdDSA")
    }
    let claims = try Self.object(parts[1], "claims")
    let key = try Self.key(of: claims)
    if let fingerprint {
      let trusted = try ConfigurationHandover.trusted(from: fingerprint, by: claims)
      guard trusted.contains(Self.fingerprint(of: key)) else {
        throw .untrustedConfiguration(reason: "its key is not the one that the fingerprint names")
      }
    }
    try Self.verify(parts, by: key)
    self = try AccountConfiguration(claims: claims, key: key, text: text)
  }

  private init(
    claims: [String: JSONText], key: IssuerPublicKey, text: String
  ) throws(SetupError) {
    self.key = key
    self.text = text
    account = try Self.claim(claims, "acc", \.text)
    serial = try Self.claim(claims, "ser", \.serial)
    issued = UnixTime(seconds: try Self.claim(claims, "iat", \.seconds))
    forcedPinsSerial = try Self.claim(claims, "fps", \.serial)
    servicePins = try Self.claim(claims, "spk", \.texts)
    serviceAddresses = try Self.addresses(claims, in: "")
    regions = try Self.regions(of: claims)
    pins = try Self.pins(of: claims)
    var domains: [String: Domain] = [:]
    for (host, kind) in try Self.claim(claims, "dom", \.members) {
      // An unknown kind comes from a newer service, which then decides about the API itself.
      if let word = kind.text { domains[host] = Domain(rawValue: word) }
    }
    self.domains = domains
    guard InitialConfiguration.isAccount(account) else {
      throw .malformedConfiguration(reason: "claim acc is no account's name")
    }
    for pin in servicePins where !Pins.isPin(pin) {
      throw .malformedConfiguration(reason: "claim spk has a pin that is no SHA-256 in base64")
    }
  }

  /// The name of a configuration key, as the short form of an initial configuration has it.
  ///
  /// - Parameter key: The configuration key.
  /// - Returns: The digest under the key's label.
  public static func fingerprint(of key: IssuerPublicKey) -> Digest {
    Digest(hashing: Array(AttestationWire.configLabel.utf8) + key.bytes)
  }

  static func object(
    _ part: Substring, _ noun: String
  ) throws(SetupError) -> [String: JSONText] {
    guard let bytes = Base64.decode(String(part), .url),
      let members = (try? JSONText.parse(bytes))?.members
    else { throw .malformedConfiguration(reason: "its \(noun) are no JSON object in base64url") }
    return members
  }

  static func key(
    of claims: [String: JSONText], _ name: String = "key"
  ) throws(SetupError) -> IssuerPublicKey {
    let text = try claim(claims, name, \.text)
    guard let bytes = Base64.decode(text, .url), let key = try? IssuerPublicKey(bytes)
    else { throw .malformedConfiguration(reason: "claim \(name) is no Ed25519 key in base64url") }
    return key
  }

  static func verify(
    _ parts: [Substring], by key: IssuerPublicKey
  ) throws(SetupError) {
    let signed = Array((parts[0] + "." + parts[1]).utf8)
    guard let signature = Base64.decode(String(parts[2]), .url),
      (try? CoreCrypto.verify(signature.span, of: signed.span, by: key)) != nil
    else { throw .untrustedConfiguration(reason: "its signature is not its key's") }
  }

  private static func pins(of claims: [String: JSONText]) throws(SetupError) -> Pins {
    var byHost: [String: [String]] = [:]
    for (host, pins) in try claim(claims, "pin", \.members) {
      guard let pins = pins.texts, pins.allSatisfy(Pins.isPin) else {
        throw .malformedConfiguration(
          reason: "claim pin: the value of \(host) is not an array of SHA-256 in base64")
      }
      byHost[host] = pins
    }
    return Pins(byHost)
  }

  /// Where the service is in a region; nil if the account does not list it.
  func addresses(in region: ServiceRegion) -> ServiceAddresses? {
    region == .home ? serviceAddresses : regions[region.name]
  }

  /// Reads `url` and, if it is there, `alt`.
  private static func addresses(
    _ members: [String: JSONText], in place: String
  ) throws(SetupError) -> ServiceAddresses {
    func address(_ name: String) throws(SetupError) -> String {
      guard let address = ServiceAddress(url: try claim(members, name, \.text)) else {
        throw .malformedConfiguration(reason: "claim \(name)\(place) is no URL of a service")
      }
      return address.url
    }
    return ServiceAddresses(
      url: try address("url"), failover: members["alt"] == nil ? nil : try address("alt"))
  }

  private static func regions(
    of claims: [String: JSONText]
  ) throws(SetupError) -> [String: ServiceAddresses] {
    guard claims["reg"] != nil else { return [:] }
    var regions: [String: ServiceAddresses] = [:]
    for (name, region) in try claim(claims, "reg", \.members) {
      guard ServiceRegion.isName(name), name != ServiceRegion.home.name,
        let members = region.members
      else {
        throw .malformedConfiguration(
          reason: "claim reg: \(name.prefix(40)) is not a region's name with addresses")
      }
      regions[name] = try addresses(members, in: " of region \(name) in claim reg")
    }
    return regions
  }

  static func claim<Value>(
    _ claims: [String: JSONText], _ name: String, _ form: (JSONText) -> Value?
  ) throws(SetupError) -> Value {
    guard let claim = claims[name] else {
      throw .malformedConfiguration(reason: "claim \(name) is missing")
    }
    guard let value = form(claim) else {
      throw .malformedConfiguration(reason: "claim \(name) is not of its type")
    }
    return value
  }
}

extension AccountConfiguration: CustomStringConvertible {
  /// Account, serial and address.
  public var description: String {
    "configuration of account \(account), serial \(serial), service \(serviceURL)"
  }
}
