// SPDX-License-Identifier: Apache-2.0

/// A finding about a device or app that reports. The names are for policies, rejection reasons and
/// annotations, and do not change; the numbers stand in response codes.
public enum Property: UInt8, Sendable, CaseIterable {
  /// A debugger is attached.
  case debug = 0
  /// The loader was told to load a library before the app.
  case preload = 1
  /// Code is loaded or mapped that has no known origin.
  case injected = 2
  /// Code in memory differs from its file.
  case patched = 3
  /// Calls lead elsewhere than their objects define.
  case hooked = 4
  /// The app runs translated or under instrumentation.
  case emulator = 5
  /// The app runs with all rights on the device.
  case root = 6
  /// The build of the app is not registered, or its registration expired.
  case appNotRegistered = 7
  /// The SDK's version is not accepted.
  case sdkVersion = 8
  /// The same storage secret is in use on another device.
  case clonedStorage = 9
  /// The app knows the account's development key.
  case developmentKey = 10
  /// The app reports that a measurement failed.
  case measurementError = 11
  /// The app is registered as a build for development.
  case developmentApp = 12
  /// The SDK's key is one for development.
  case developmentSDK = 13
  /// An operator lets this device pass.
  case forcedPass = 14
  /// An operator lets this device fail.
  case forcedFail = 15
  /// The device was not seen before.
  case firstFetch = 16
  /// The app could not read part of its environment.
  case unreadable = 17
  /// The app states its activity, and neither a desktop nor a terminal started it.
  case automatedLaunch = 18
  /// The report is signed by another key than the device's.
  case installationKeyChanged = 19
  /// The report is not signed, though the device has a key or the policy demands one.
  case installationKeyMissing = 20
  /// The policy demands a key in hardware, and this key has no evidence.
  case installationKeyUnproved = 21
  /// The app withholds names, versions and the hardware's model.
  case withheldBasic = 22
  /// The app withholds what identifies its machine.
  case withheldUnique = 23
  /// The app withholds details for people.
  case withheldExtra = 24
  /// Hardware has told the app that another copy of it sends commands.
  case copySeen = 25

  /// The name.
  public var name: String {
    switch self {
    case .debug: "debug"
    case .preload: "preload"
    case .injected: "injected"
    case .patched: "patched"
    case .hooked: "hooked"
    case .emulator: "emulator"
    case .root: "root"
    case .appNotRegistered: "app-not-registered"
    case .sdkVersion: "sdk-version"
    case .clonedStorage: "cloned-storage"
    case .developmentKey: "development-key"
    case .measurementError: "measurement-error"
    case .developmentApp: "development-app"
    case .developmentSDK: "development-sdk"
    case .forcedPass: "forced-pass"
    case .forcedFail: "forced-fail"
    case .firstFetch: "first-fetch"
    case .unreadable: "unreadable"
    case .automatedLaunch: "automated-launch"
    case .installationKeyChanged: "installation-key-changed"
    case .installationKeyMissing: "installation-key-missing"
    case .installationKeyUnproved: "installation-key-unproved"
    case .withheldBasic: "withheld-basic"
    case .withheldUnique: "withheld-unique"
    case .withheldExtra: "withheld-extra"
    case .copySeen: "copy-seen"
    }
  }

  /// The property of a name.
  public init?(name: String) {
    guard let property = Property.allCases.first(where: { $0.name == name }) else { return nil }
    self = property
  }
}

/// A set of properties.
public struct Properties: OptionSet, Sendable, Hashable {
  /// Bit n stands for the property of number n.
  public let rawValue: UInt32

  /// The properties of these bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// These properties.
  public init(_ properties: some Sequence<Property>) {
    rawValue = properties.reduce(0) { $0 | 1 << UInt32($1.rawValue) }
  }

  /// Whether a property is among them.
  public func contains(_ property: Property) -> Bool {
    rawValue & 1 << UInt32(property.rawValue) != 0
  }

  mutating func insert(_ property: Property) { formUnion(Properties([property])) }

  /// The properties, in the order of their numbers.
  public var all: [Property] { Property.allCases.filter { contains($0) } }

  /// Their names.
  public var names: [String] { all.map(\.name) }

  /// Every property.
  public static let every = Properties(Property.allCases)

  /// Reads names between commas; `none` and `all` stand for themselves.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``.
  public init(parsing text: String) throws(ServiceError) {
    switch text {
    case "none": self = []
    case "all": self = .every
    default:
      var properties: [Property] = []
      // Refuse an empty name: a variable left unset by mistake must not switch all rejection off.
      for name in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let property = Property(name: String(name)) else {
          throw .invalid(
            "property", value: String(name.prefix(80)),
            allowed: "all, none, or " + Property.allCases.map(\.name).joined(separator: ", "))
        }
        properties.append(property)
      }
      self.init(properties)
    }
  }

  /// The names between commas, `none` or `all`: the form that ``init(parsing:)`` reads.
  public var text: String {
    isEmpty ? "none" : self == .every ? "all" : names.joined(separator: ",")
  }
}
