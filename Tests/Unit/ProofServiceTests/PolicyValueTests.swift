// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The texts of policies and properties: bounds from both sides, other settings untouched, errors.
@Suite struct PolicyValueTests {
  @Test(
    arguments: [
      (.tokenLifetime, 10, 86_400), (.saltLifetime, 5, 600), (.readLimit, 16, 50),
      (.cloneWindow, 60, 31_536_000), (.deviceRetention, 0, 3_650),
      (.firstFetchRate, 0, 1_000_000_000), (.firstFetchAlarm, 0, 1_000_000_000),
      (.deviceRate, 0, 1_000_000), (.addressRate, 0, 1_000_000),
    ] as [(PolicySetting, Int, Int)])
  func `a number is taken in its range, and refused beside it`(
    _ setting: PolicySetting, _ least: Int, _ most: Int
  ) throws {
    var policy = Policy()
    for number in [least, most] {
      try policy.set(setting, to: "\(number)")
      #expect(policy[setting] == "\(number)")
    }
    for text in ["\(least - 1)", "\(most + 1)", "\(least).0", "x"] {
      #expect(
        throws: ServiceError.invalid(
          setting.rawValue, value: text, allowed: "\(least) to \(most)")
      ) { try policy.set(setting, to: text) }
    }
    #expect(policy[setting] == "\(most)")
  }

  /// For each setting, a text that is not the one of a new account.
  private static let others: [PolicySetting: String] = [
    .rejection: "debug,copy-seen", .annotations: "all", .sdkVersions: "1.0,1.1",
    .tokenLifetime: "11", .saltLifetime: "6", .addressTracking: "off", .rejectionReasons: "on",
    .responseCodes: "off", .issuer: "me", .audience: "off", .issuedAt: "on", .subject: "on",
    .secureStrings: "on", .customTokens: "on", .customClaims: "iss,jti",
    .installationKey: "hardware", .withholding: "unique", .measurement: "incremental",
    .sourcesWithout: "3/4,3/8", .readLimit: "17", .cloneWindow: "61", .deviceRetention: "1",
    .firstFetchRate: "1", .firstFetchAlarm: "2", .deviceRate: "3", .addressRate: "4",
  ]

  @Test(arguments: PolicySetting.allCases)
  func `a setting changes itself alone, by its case and by its name`(
    _ setting: PolicySetting
  ) throws {
    let text = try #require(Self.others[setting])
    var (policy, named) = (Policy(), Policy())
    try policy.set(setting, to: text)
    try named.set(setting.rawValue, to: text)
    #expect(policy == named && policy != Policy())
    for other in PolicySetting.allCases {
      #expect(policy[other] == (other == setting ? text : Policy()[other]), "\(other)")
    }
    #expect(try Policy(fields: policy.fields) == policy)
    #expect(policy.fields.members.count == PolicySetting.allCases.count)
  }

  @Test(
    arguments: [
      .addressTracking, .rejectionReasons, .responseCodes, .audience, .issuedAt, .subject,
      .secureStrings, .customTokens,
    ] as [PolicySetting])
  func `a switch is on or off, and no other word`(_ setting: PolicySetting) throws {
    var policy = Policy()
    for word in ["on", "off", "on"] {
      try policy.set(setting, to: word)
      #expect(policy[setting] == word)
    }
    for word in ["", "On", "true", "1", "off "] {
      #expect(throws: ServiceError.invalid(setting.rawValue, value: word, allowed: "on, off")) {
        try policy.set(setting, to: word)
      }
    }
    #expect(policy[setting] == "on")
  }

  @Test func `long texts are told by their first 80 characters, and ends of lists are kept`()
    throws
  {
    var policy = Policy()
    let (long, cut) = (Desk.long, Desk.cut)
    try policy.set(.issuer, to: String(repeating: "i", count: 256))
    #expect(policy.issuer.count == 256)
    for wrong in [String(repeating: "i", count: 257), "a\u{1F}", "a\u{7F}", "é"] {
      #expect(
        throws: ServiceError.invalid(
          "issuer", value: String(wrong.prefix(80)), allowed: "256 printable characters")
      ) { try policy.set(.issuer, to: wrong) }
    }
    try policy.set(.issuer, to: " ~")
    #expect(policy.issuer == " ~" && policy[.issuer] == " ~")
    try policy.set(.issuer, to: "none")
    #expect(policy.issuer.isEmpty && policy[.issuer] == "none")

    try policy.set(.sdkVersions, to: String(repeating: "1", count: 4_096))
    #expect(policy.sdkVersions.map(\.count) == [4_096])
    #expect(
      throws: ServiceError.invalid(
        "sdk-versions", value: String(repeating: "1", count: 80),
        allowed: "at most 4096 characters")
    ) { try policy.set(.sdkVersions, to: String(repeating: "1", count: 4_097)) }
    try policy.set(.sdkVersions, to: "all")
    #expect(policy.sdkVersions.isEmpty && policy[.sdkVersions] == "all")

    try policy.set(.customClaims, to: "jti,iss,aud")
    #expect(policy.customClaims == ["iss", "aud", "jti"])
    for wrong in ["jti,jti", "jti,", "exp", long] {
      #expect(
        throws: ServiceError.invalid(
          "custom-claims", value: String(wrong.prefix(80)),
          allowed: "iss, sub, aud, nbf, iat, jti, between commas, or none")
      ) { try policy.set(.customClaims, to: wrong) }
    }
    try policy.set(.customClaims, to: "none")
    #expect(policy.customClaims.isEmpty && policy[.customClaims] == "none")

    for (setting, told, allowed) in [
      (.installationKey, cut, "any, signed, hardware"),
      (.measurement, long, "full, incremental, incremental-trusting-owner"),
    ] as [(PolicySetting, String, String)] {
      #expect(throws: ServiceError.invalid(setting.rawValue, value: told, allowed: allowed)) {
        try policy.set(setting, to: long)
      }
    }
    #expect(
      throws: ServiceError.invalid(
        "facts that apps may withhold", value: cut,
        allowed: "none, all, or basic, unique, extra between commas")
    ) { try policy.set(.withholding, to: long) }
    #expect(throws: ServiceError.unknown("setting", name: cut)) { try policy.set(long, to: "1") }
    #expect(throws: ServiceError.damaged("policy")) { try Policy(fields: ["issuer": 1]) }
  }

  // MARK: Properties

  @Test func `each property is one bit with one name, and the page says which reject`() throws {
    let page = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs/MANAGEMENT.md"), encoding: .utf8)
    let part = try #require(page.components(separatedBy: "\n## Properties\n").last)
    let rows = part.split(separator: "\n").filter { $0.hasPrefix("| `") }
    for property in Property.allCases {
      let one = Properties([property])
      #expect(one.rawValue == 1 << UInt32(property.rawValue) && one.all == [property])
      #expect(Property(name: property.name) == property)
      #expect(Property.allCases.filter { one.contains($0) } == [property])
      #expect(try Properties(parsing: property.name) == one && one.text == property.name)
      let row = try #require(rows.first { $0.contains("`\(property.name)`") })
      let rejects = row.hasSuffix("| yes |")
      #expect(Policy().rejection.contains(property) == rejects, "\(property.name)")
    }
    #expect(Property(name: "") == nil && Property(name: "Debug") == nil)
  }

  @Test func `a list of properties is read in any order, and an empty name is refused`() throws {
    #expect(try Properties(parsing: "none") == [] && Properties([]).text == "none")
    #expect(try Properties(parsing: "all") == .every && Properties.every.text == "all")
    #expect(Properties.every.all == Property.allCases)
    #expect(try Properties(parsing: "root,debug,root").text == "debug,root")
    let names = Property.allCases.map(\.name)
    #expect(try Properties(parsing: names.dropLast().joined(separator: ",")).text != "all")
    let allowed = "all, none, or " + names.joined(separator: ", ")
    for (text, told) in [
      ("", ""), ("debug,", ""), (",debug", ""), ("debug,all", "all"), (Desk.long, Desk.cut),
    ] {
      #expect(throws: ServiceError.invalid("property", value: told, allowed: allowed)) {
        try Properties(parsing: text)
      }
    }
    var few = Properties([.root])
    few.insert(.debug)
    #expect(few.names == ["debug", "root"])
  }

  @Test func `withheld facts have a property each, and the rest of them rejects`() throws {
    let all = [
      ("basic", CollectionMode.withoutBasicFacts, Property.withheldBasic),
      ("unique", .withoutUniqueIdentifiers, .withheldUnique),
      ("extra", .withoutExtras, .withheldExtra),
    ]
    for (name, mode, property) in all {
      #expect(try CollectionMode(parsing: name) == mode)
      #expect(mode.properties == Properties([property]))
      #expect(mode.rejection == Properties(all.map(\.2).filter { $0 != property }))
    }
    #expect(try CollectionMode(parsing: "extra,basic") == [.withoutBasicFacts, .withoutExtras])
    #expect(try CollectionMode(parsing: "all").rejection == [])
    #expect(try CollectionMode(parsing: "none").rejection == Properties(all.map(\.2)))
    #expect(CollectionMode([]).properties == [])
    for text in ["", "basic,", "basic,none"] {
      #expect(throws: ServiceError.self) { try CollectionMode(parsing: text) }
    }
  }

  @Test func `the rule about keys rejects what the page says`() {
    #expect(InstallationKeyRule.any.rejection == [])
    let signed: [Property] = [.installationKeyMissing, .installationKeyChanged]
    #expect(InstallationKeyRule.signed.rejection == Properties(signed))
    #expect(
      InstallationKeyRule.hardware.rejection == Properties(signed + [.installationKeyUnproved]))
  }
}
