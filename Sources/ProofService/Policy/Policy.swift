// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

/// The operator's decisions about all devices of an account. Every setting has a name and a text
/// form; tools, the management API and the store use the text form.
public struct Policy: Sendable, Hashable {
  /// The findings that make an app fail.
  public var rejection: Properties = [
    Properties([
      .debug, .preload, .injected, .patched, .hooked, .emulator, .root, .appNotRegistered,
      .sdkVersion, .clonedStorage, .installationKeyChanged, .installationKeyMissing,
    ])
  ]
  /// The properties that tokens carry in the claim `anno`.
  public var annotations: Properties = []
  /// The versions of the SDK that are accepted; empty for all.
  public var sdkVersions: [String] = []
  /// The lifetime of a token, in seconds.
  public var tokenLifetime = 300
  /// The lifetime of a challenge's salt, in seconds.
  public var saltLifetime = 60
  static let saltLifetimes = 5...600
  /// Whether tokens carry the address that the service saw.
  public var tracksAddress = true
  /// Whether failing apps get the reasons.
  public var tellsReasons = false
  /// Whether answers have response codes.
  public var hasResponseCodes = true
  /// The claim `iss`, or empty for none.
  public var issuer = ""
  /// Whether tokens have the claim `aud`: the API's domain. An API's own choice comes first.
  public var hasAudience = true
  /// Whether tokens have the claim `iat`.
  public var hasIssuedAt = false
  /// Whether tokens have the claim `sub`.
  public var hasSubject = false
  /// Whether the account has secure strings.
  public var hasSecureStrings = false
  /// Whether the account has custom tokens.
  public var hasCustomTokens = false
  /// The registered claims that apps may set in custom tokens, in the order of RFC 7519.
  public var customClaims = ["jti"]
  /// The demand on installation keys.
  public var installationKey = InstallationKeyRule.any
  /// The facts that apps may withhold. Without unique identifiers the service cannot tell a copy of
  /// an app's storage on another machine.
  public var withholding: CollectionMode = [.withoutBasicFacts, .withoutExtras]
  /// The way apps may measure.
  public var measurement = MeasurementPolicy.full
  /// The sources that no app is asked for.
  public var sourcesWithout = LeftOutSources.none
  /// Apps read at most 2 to this power bytes of files.
  public var limitLog2 = 33
  /// Seconds for which a device counts as active after a report, in the search for cloned storage.
  public var cloneWindow = 86_400
  /// Days for which a device is kept after its last report; 0 for ever.
  public var deviceRetention = 400
  /// First reports of unknown devices an hour, and as many at once; 0 for no limit.
  public var firstFetchRate = 10_000
  /// First reports of one SDK build within an hour that raise an alarm; 0 for none.
  public var firstFetchAlarm = 1_000
  /// Requests a second of one device, and as many at once as in ten seconds; 0 for no limit.
  public var deviceRate = 5
  /// Requests a second of one address, and as many at once as in ten seconds; 0 for no limit.
  public var addressRate = 200

  /// The policy of a new account.
  public init() {}
}

/// The settings of a policy by name.
public enum PolicySetting: String, Sendable, CaseIterable {
  /// The setting of ``Policy/rejection``.
  case rejection
  /// The setting of ``Policy/annotations``.
  case annotations
  /// The setting of ``Policy/sdkVersions``.
  case sdkVersions = "sdk-versions"
  /// The setting of ``Policy/tokenLifetime``.
  case tokenLifetime = "token-lifetime"
  /// The setting of ``Policy/saltLifetime``.
  case saltLifetime = "salt-lifetime"
  /// The setting of ``Policy/tracksAddress``.
  case addressTracking = "address-tracking"
  /// The setting of ``Policy/tellsReasons``.
  case rejectionReasons = "rejection-reasons"
  /// The setting of ``Policy/hasResponseCodes``.
  case responseCodes = "response-codes"
  /// The setting of ``Policy/issuer``.
  case issuer
  /// The setting of ``Policy/hasAudience``.
  case audience
  /// The setting of ``Policy/hasIssuedAt``.
  case issuedAt = "issued-at"
  /// The setting of ``Policy/hasSubject``.
  case subject
  /// The setting of ``Policy/hasSecureStrings``.
  case secureStrings = "secure-strings"
  /// The setting of ``Policy/hasCustomTokens``.
  case customTokens = "custom-tokens"
  /// The setting of ``Policy/customClaims``.
  case customClaims = "custom-claims"
  /// The setting of ``Policy/installationKey``.
  case installationKey = "installation-key"
  /// The setting of ``Policy/withholding``.
  case withholding
  /// The setting of ``Policy/measurement``.
  case measurement
  /// The setting of ``Policy/sourcesWithout``.
  case sourcesWithout = "sources-without"
  /// The setting of ``Policy/limitLog2``.
  case readLimit = "read-limit"
  /// The setting of ``Policy/cloneWindow``.
  case cloneWindow = "clone-window"
  /// The setting of ``Policy/deviceRetention``.
  case deviceRetention = "device-retention"
  /// The setting of ``Policy/firstFetchRate``.
  case firstFetchRate = "first-fetch-rate"
  /// The setting of ``Policy/firstFetchAlarm``.
  case firstFetchAlarm = "first-fetch-alarm"
  /// The setting of ``Policy/deviceRate``.
  case deviceRate = "device-rate"
  /// The setting of ``Policy/addressRate``.
  case addressRate = "address-rate"

  /// The subject of the setting, for help texts.
  public var meaning: String {
    switch self {
    case .rejection: "properties that make an app fail, between commas"
    case .annotations: "properties that tokens tell in “anno”, between commas"
    case .sdkVersions: "accepted versions of the SDK, between commas, or all"
    case .tokenLifetime: "seconds that a token lives, 10 to 86400"
    case .saltLifetime: "seconds that a challenge lives, 5 to 600"
    case .addressTracking: "whether tokens tell the app's address in “ip”: on or off"
    case .rejectionReasons: "whether failing apps are told why: on or off"
    case .responseCodes: "whether there are response codes (“arc”): on or off"
    case .issuer: "the claim “iss”, or none"
    case .audience: "whether tokens name their API in “aud”: on or off"
    case .issuedAt: "whether tokens have “iat”: on or off"
    case .subject: "whether tokens have “sub”: on or off"
    case .secureStrings: "whether there are secure strings: on or off"
    case .customTokens: "whether there are custom tokens: on or off"
    case .customClaims: "claims apps may set in them, of iss,sub,aud,nbf,iat,jti, or none"
    case .installationKey: "what signs reports: any, signed, or hardware"
    case .withholding: "facts that apps may withhold, of basic,unique,extra, or all or none"
    case .measurement: "how apps measure: full, incremental, or incremental-trusting-owner"
    case .sourcesWithout: "sources that no app is asked for, such as 3/4,3/8, or none"
    case .readLimit: "apps read at most 2 to this power bytes, 16 to 50"
    case .cloneWindow: "seconds for which a device counts as active, 60 to 31536000"
    case .deviceRetention: "days a device is known after its last report, 1 to 3650, 0 for ever"
    case .firstFetchRate: "first reports of unknown devices an hour, 0 for no limit"
    case .firstFetchAlarm: "first reports of one SDK build an hour that are logged, 0 for none"
    case .deviceRate: "requests a second of one device, 0 for no limit"
    case .addressRate: "requests a second of one address, 0 for no limit"
    }
  }
}

extension Policy {
  /// A setting as text.
  public subscript(setting: PolicySetting) -> String {
    switch setting {
    case .rejection: rejection.text
    case .annotations: annotations.text
    case .sdkVersions: sdkVersions.isEmpty ? "all" : sdkVersions.joined(separator: ",")
    case .tokenLifetime: "\(tokenLifetime)"
    case .saltLifetime: "\(saltLifetime)"
    case .addressTracking: Self.word(tracksAddress)
    case .rejectionReasons: Self.word(tellsReasons)
    case .responseCodes: Self.word(hasResponseCodes)
    case .issuer: issuer.isEmpty ? "none" : issuer
    case .audience: Self.word(hasAudience)
    case .issuedAt: Self.word(hasIssuedAt)
    case .subject: Self.word(hasSubject)
    case .secureStrings: Self.word(hasSecureStrings)
    case .customTokens: Self.word(hasCustomTokens)
    case .customClaims: customClaims.isEmpty ? "none" : customClaims.joined(separator: ",")
    case .installationKey: installationKey.rawValue
    case .withholding: withholding.text
    case .measurement: measurement.settingText
    case .sourcesWithout: sourcesWithout.text
    case .readLimit: "\(limitLog2)"
    case .cloneWindow: "\(cloneWindow)"
    case .deviceRetention: "\(deviceRetention)"
    case .firstFetchRate: "\(firstFetchRate)"
    case .firstFetchAlarm: "\(firstFetchAlarm)"
    case .deviceRate: "\(deviceRate)"
    case .addressRate: "\(addressRate)"
    }
  }

  /// Sets a setting from text.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``; the policy then stays unchanged.
  public mutating func set(_ setting: PolicySetting, to text: String) throws(ServiceError) {
    func flag() throws(ServiceError) -> Bool {
      guard text == "on" || text == "off" else {
        throw .invalid(setting.rawValue, value: text, allowed: "on, off")
      }
      return text == "on"
    }
    func number(_ range: ClosedRange<Int>) throws(ServiceError) -> Int {
      guard let number = Int(text), range.contains(number) else {
        throw .invalid(
          setting.rawValue, value: text, allowed: "\(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
    switch setting {
    case .rejection: rejection = try Properties(parsing: text)
    case .annotations: annotations = try Properties(parsing: text)
    case .sdkVersions:
      guard text.utf8.count <= 4_096 else {
        throw .invalid(
          setting.rawValue, value: String(text.prefix(80)), allowed: "at most 4096 characters")
      }
      sdkVersions = text == "all" ? [] : text.split(separator: ",").map(String.init)
    case .tokenLifetime: tokenLifetime = try number(10...86_400)
    case .saltLifetime: saltLifetime = try number(Self.saltLifetimes)
    case .addressTracking: tracksAddress = try flag()
    case .rejectionReasons: tellsReasons = try flag()
    case .responseCodes: hasResponseCodes = try flag()
    case .issuer:
      guard text.utf8.count <= 256, text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
        throw .invalid(
          setting.rawValue, value: String(text.prefix(80)), allowed: "256 printable characters")
      }
      issuer = text == "none" ? "" : text
    case .audience: hasAudience = try flag()
    case .issuedAt: hasIssuedAt = try flag()
    case .subject: hasSubject = try flag()
    case .secureStrings: hasSecureStrings = try flag()
    case .customTokens: hasCustomTokens = try flag()
    case .customClaims:
      let words = text.split(separator: ",", omittingEmptySubsequences: false)
      let names = text == "none" ? [] : words.map(String.init)
      guard names.allSatisfy(CustomClaims.registered.contains), Set(names).count == names.count
      else {
        throw .invalid(
          setting.rawValue, value: String(text.prefix(80)),
          allowed: CustomClaims.registered.joined(separator: ", ") + ", between commas, or none")
      }
      customClaims = CustomClaims.registered.filter(names.contains)
    case .installationKey:
      guard let rule = InstallationKeyRule(rawValue: text) else {
        let allowed = InstallationKeyRule.allCases.map(\.rawValue).joined(separator: ", ")
        throw .invalid(setting.rawValue, value: String(text.prefix(80)), allowed: allowed)
      }
      installationKey = rule
    case .withholding: withholding = try CollectionMode(parsing: text)
    case .measurement:
      guard let policy = MeasurementPolicy.allCases.first(where: { $0.settingText == text }) else {
        let allowed = MeasurementPolicy.allCases.map(\.settingText).joined(separator: ", ")
        throw .invalid(setting.rawValue, value: text, allowed: allowed)
      }
      measurement = policy
    case .sourcesWithout: sourcesWithout = try LeftOutSources(parsing: text)
    case .readLimit: limitLog2 = try number(16...50)
    case .cloneWindow: cloneWindow = try number(60...31_536_000)
    case .deviceRetention: deviceRetention = try number(0...3_650)
    case .firstFetchRate: firstFetchRate = try number(0...1_000_000_000)
    case .firstFetchAlarm: firstFetchAlarm = try number(0...1_000_000_000)
    case .deviceRate: deviceRate = try number(0...1_000_000)
    case .addressRate: addressRate = try number(0...1_000_000)
    }
  }

  /// Sets a setting by its name.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``, ``ServiceError/invalid(_:value:allowed:)``.
  public mutating func set(_ name: String, to text: String) throws(ServiceError) {
    guard let setting = PolicySetting(rawValue: name) else {
      throw .unknown("setting", name: String(name.prefix(80)))
    }
    try set(setting, to: text)
  }

  private static func word(_ flag: Bool) -> String { flag ? "on" : "off" }

  /// All settings, each as text.
  public var fields: JSONObject {
    var fields = JSONObject()
    for setting in PolicySetting.allCases { fields.set(setting.rawValue, self[setting]) }
    return fields
  }

  /// Makes the policy of a new account with these settings.
  init(fields: JSONObject) throws(ServiceError) {
    for (name, value) in fields.members {
      guard case .string(let text) = value else { throw .damaged("policy") }
      try set(name, to: text)
    }
  }
}

extension MeasurementPolicy {
  /// The word of the setting `measurement`, which names what the fast policies trust.
  var settingText: String {
    switch self {
    case .full: "full"
    case .incremental: "incremental"
    case .trusting: "incremental-trusting-owner"
    }
  }
}
