// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofJOSE
import ProofModel
import SeededRandom
import Testing

@testable import ProofService

@Suite struct PolicyTests {
  /// Attests an app whose one record differs, and reads what the response code says.
  private func seen(
    _ number: UInt8, _ name: String, _ digest: Digest?, class evidenceClass: EvidenceClass
  ) throws -> ResponseCode {
    let bench = try Bench()
    var app = bench.app
    app.evidence[TestApp.Name(evidenceClass, number, name)] = .some(digest)
    return try bench.management.read(responseCode: bench.attest(app).responseCode)
  }

  @Test func `every setting stands in MANAGEMENT.md, with its default and its meaning`() throws {
    let page = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs/MANAGEMENT.md"), encoding: .utf8)
    let policy = Policy()
    for setting in PolicySetting.allCases {
      let row = "| `\(setting.rawValue)` | `\(policy[setting])` | \(setting.meaning) |"
      #expect(page.contains(row + "\n"), "\(row)")
    }
  }

  @Test func `an app with nothing special passes, and the code says so`() throws {
    let bench = try Bench()
    let first = try bench.management.read(responseCode: bench.attest(bench.app).responseCode)
    #expect(first == ResponseCode(isPassed: true, properties: Properties([.firstFetch])))
    let second = try bench.management.read(responseCode: bench.attest(bench.app).responseCode)
    #expect(second == ResponseCode(isPassed: true, properties: []))
  }

  @Test(
    arguments: [
      (1, "tracer", .debug), (1, "hardware breakpoints", .debug),
      (2, "LD_AUDIT", .preload), (2, "LD_LIBRARY_PATH", .preload),
      (2, "LD_PRELOAD", .preload), (2, "ld.so.preload", .preload), (3, "unexplained", .injected),
      (4, "anonymous", .injected), (4, "deleted", .injected), (4, "foreign", .injected),
      (4, "memfd", .injected), (4, "misplaced", .patched), (4, "replaced", .patched),
      (4, "writable", .injected), (5, "private", .patched), (7, "translator", .emulator),
      (7, "valgrind", .emulator), (7, "views", .emulator),
    ] as [(UInt8, String, Property)])
  func `an environment that is not “nothing special” has its property, and fails`(
    _ number: UInt8, _ name: String, _ property: Property
  ) throws {
    let special = try seen(
      number, name, Digest(hashing: Array("special".utf8)), class: .environment)
    #expect(special.properties.contains(property) && !special.isPassed)
    let absent = try seen(number, name, nil, class: .environment)
    #expect(absent.properties.contains(.unreadable) && absent.isPassed)
  }

  @Test func `in a container an app has no debugger, and none is denied either`() throws {
    let contained = try seen(
      1, "tracer", Digest(hex(TestApp.factContained)), class: .environment)
    #expect(contained.properties.contains(.unreadable) && contained.isPassed)
    #expect(!contained.properties.contains(.debug))
    let elsewhere = try seen(
      2, "ld.so.preload", Digest(hex(TestApp.factContained)), class: .environment)
    #expect(elsewhere.properties.contains(.preload) && !elsewhere.isPassed)
  }

  @Test func `where no app may ask for breakpoints, that says nothing of this one`() throws {
    let unasked = try seen(
      1, "hardware breakpoints", Digest(hex(TestApp.factUnasked)), class: .environment)
    let plain = try seen(1, "tracer", Digest(hex(TestApp.factNone)), class: .environment)
    #expect(unasked.properties == plain.properties && unasked.isPassed)
    let elsewhere = try seen(
      1, "personality", Digest(hashing: Array("00040000".utf8)), class: .environment)
    #expect(elsewhere.properties == plain.properties && elsewhere.isPassed)
  }

  @Test(arguments: [
    ("finding.2.1", Property.patched), ("finding.3.6.libc.so.6", .hooked),
    ("finding.3.7", .emulator), ("root", .root),
  ])
  func `where evidence has no constant, the SDK's findings count`(
    _ name: String, _ property: Property
  ) throws {
    let bench = try Bench()
    var subject = AttestationReport.Subject(.token, name: Bench.api)
    subject.properties = [.init(name, "true")]
    let code = try bench.management.read(
      responseCode: bench.attest(bench.app, subject).responseCode)
    #expect(code.properties.contains(property) && !code.isPassed)
  }

  @Test func `properties that mean nothing here change nothing`() throws {
    let bench = try Bench()
    var subject = AttestationReport.Subject(.token, name: Bench.api)
    subject.properties = [
      .init("finding", "x"), .init("finding.9.9", "x"), .init("root", "false"), .init("", ""),
      .init("os", "Debian"),
    ]
    let code = try bench.management.read(
      responseCode: bench.attest(bench.app, subject).responseCode)
    #expect(code.isPassed && code.properties == Properties([.firstFetch]))
  }

  @Test func `tokens name their API unless the API or the policy says otherwise`() throws {
    let bench = try Bench()
    let old = "old.example.com"
    try bench.management.add(API(old, hasAudience: false))
    func audience(_ host: String, _ expected: String?) throws -> [String] {
      let answer = try bench.attest(bench.app, name: host)
      let example = try bench.management.exampleToken(for: host)
      let claims = try bench.claims(answer.token, audience: expected)
      #expect(try bench.claims(example, audience: expected).audience == claims.audience)
      return claims.audience
    }
    #expect(try audience(Bench.api, Bench.api) == [Bench.api])
    #expect(try audience(old, nil) == [])
    // One API's token is no other's, though all have the account's secret.
    try bench.management.add(API("bank.example.com"))
    let token = try bench.attest(bench.app).token
    for host in ["bank.example.com", nil] {
      #expect(throws: JOSEError.self) { try bench.claims(token, audience: host) }
    }
    _ = try bench.management.perform("policy/set", ["audience": "off"])
    #expect(try audience(Bench.api, nil) == [])
    _ = try bench.management.perform(
      "api/add", ["host": "new.example.com", "audience": true])
    #expect(try audience("new.example.com", "new.example.com") == ["new.example.com"])
    #expect(try bench.management.apis().map(\.hasAudience) == [nil, nil, nil, true, false, nil])
  }

  @Test func `an account of before keeps tokens without an audience`() throws {
    let bench = try Bench()
    // The setting that the policy of such an account has.
    var fields = Policy().fields
    fields["audience"] = "off"
    try bench.store.apply([AccountDocument.policy.put(fields)])
    #expect(try bench.claims(bench.attest(bench.app).token, audience: nil).audience == [])
  }

  @Test func `the policy says what counts`() throws {
    for (rejection, passes) in [("debug", false), ("none", true), ("patched,root", true)] {
      let bench = try Bench(policy: [.rejection: rejection, .rejectionReasons: "on"])
      var app = bench.app
      app.evidence[TestApp.Name(.environment, 1, "tracer")] = Digest(hashing: [1])
      let answer = try bench.attest(app)
      #expect(((try? bench.claims(answer.token)) != nil) == passes)
      #expect(answer.rejectionReasons == (passes ? "" : "debug"))
    }
  }

  @Test func `reasons are told only where the policy says so`() throws {
    let bench = try Bench()
    var app = bench.app
    app.evidence[TestApp.Name(.environment, 1, "tracer")] = Digest(hashing: [1])
    #expect(try bench.attest(app).rejectionReasons == "")
  }

  @Test func `a registration ends when it says, and can be removed`() throws {
    let bench = try Bench()
    try bench.management.register(bench.app.digest, name: "short", expireAfter: 3_600)
    func passes() throws -> Bool {
      (try? bench.claims(bench.attest(bench.app).token)) != nil
    }
    #expect(try passes())
    bench.clock.advance(by: 3_599)
    #expect(try passes())
    bench.clock.advance(by: 1)
    #expect(try !passes())
    try bench.management.register(bench.app.digest, name: "long")
    #expect(try passes())
    try bench.management.removeRegistration(bench.app.digest)
    #expect(try !passes())
  }

  @Test func `a build for development may be debugged, and is told apart`() throws {
    let bench = try Bench(policy: [.annotations: "all"])
    try bench.management.register(bench.app.digest, name: "dev", isDevelopment: true)
    var app = bench.app
    app.evidence[TestApp.Name(.environment, 1, "tracer")] = Digest(hashing: [1])
    let claims = try bench.claims(bench.attest(app).token)
    #expect(claims.annotations == ["debug", "development-app", "first-fetch"])
    app.evidence[TestApp.Name(.environment, 5, "private")] = Digest(hashing: [1])
    let answer = try bench.attest(app)
    #expect(throws: JOSEError.signatureWrong) { try bench.claims(answer.token) }
  }

  @Test func `only accepted versions of the SDK pass`() throws {
    let bench = try Bench(policy: [.sdkVersions: "0.1.0,0.2.0", .rejectionReasons: "on"])
    _ = try bench.claims(bench.attest(bench.app).token)
    var app = bench.app
    app.sdkVersion = "0.0.9"
    #expect(try bench.attest(app).rejectionReasons == "sdk-version")
  }

  @Test func `an operator's word about a device counts most`() throws {
    let bench = try Bench(policy: [.rejectionReasons: "on"])
    var app = bench.app
    app.evidence[TestApp.Name(.environment, 1, "tracer")] = Digest(hashing: [1])
    try bench.management.set(.pass, for: app.device)
    _ = try bench.claims(bench.attest(app).token)
    try bench.management.set(.fail, for: app.device)
    #expect(try bench.attest(bench.app).rejectionReasons == "forced-fail")
    try bench.management.set(nil, for: app.device)
    _ = try bench.claims(bench.attest(bench.app).token)
    #expect(try bench.attest(app).rejectionReasons == "debug")
    #expect(try bench.store.rows(of: .deviceRule) == [])
  }

  @Test func `the development key passes, the old one and none do not`() throws {
    let bench = try Bench()
    try bench.management.removeRegistration(bench.app.digest)
    func passes(_ key: String) throws -> Bool {
      var subject = AttestationReport.Subject(.token, name: Bench.api)
      subject.developmentKey = key
      return (try? bench.claims(bench.attest(bench.app, subject).token)) != nil
    }
    #expect(try !passes(""))
    let old = try bench.management.changeDevelopmentKey()
    #expect(try passes(old))
    #expect(try !passes(""))
    #expect(try !passes(old + "x"))
    let new = try bench.management.changeDevelopmentKey()
    #expect(try !passes(old))
    #expect(try passes(new))
    try bench.management.removeDevelopmentKey()
    #expect(try !passes(new))
  }

  @Test func `a storage secret on two machines is cloned, until one has long been silent`() throws {
    let bench = try Bench(policy: [.rejectionReasons: "on", .cloneWindow: "3600"])
    var clone = bench.app
    clone.evidence[TestApp.Name(.device, 1, "machine-id")] = Digest(hashing: Array("2".utf8))
    #expect(clone.device == bench.app.device)
    #expect(try bench.attest(bench.app).rejectionReasons == "")
    bench.clock.advance(by: 3_600)
    #expect(try bench.attest(clone).rejectionReasons == "cloned-storage")
    #expect(try bench.attest(bench.app).rejectionReasons == "cloned-storage")
    bench.clock.advance(by: 3_601)
    #expect(try bench.attest(clone).rejectionReasons == "")
  }

  @Test(arguments: [false, true])
  func `a copy that hardware told of is seen for the window, and fails where the operator says so`(
    isRejected: Bool
  ) throws {
    let bench = try Bench(policy: [.rejectionReasons: "on", .cloneWindow: "3600"])
    if isRejected {
      try bench.management.changePolicy { policy throws(ServiceError) in
        policy.rejection.insert(.copySeen)
      }
    }
    func isSeen(telling: Bool) throws -> Bool {
      var subject = AttestationReport.Subject(.token, name: Bench.api)
      if telling { subject.properties = [.init(Ratchet.copyProperty, "1")] }
      let answer = try bench.attest(bench.app, subject)
      let seen = try bench.management.read(responseCode: answer.responseCode).properties
        .contains(.copySeen)
      #expect(answer.rejectionReasons == (isRejected && seen ? "copy-seen" : ""))
      return seen
    }
    #expect(try !isSeen(telling: false))
    #expect(try isSeen(telling: true))
    // The copy reports as the same installation, and does not tell.
    bench.clock.advance(by: 3_600)
    #expect(try isSeen(telling: false))
    bench.clock.advance(by: 1)
    #expect(try !isSeen(telling: false))
  }

  @Test func `the user property for errors is told, and nothing else happens`() throws {
    let bench = try Bench()
    var subject = AttestationReport.Subject(.token, name: Bench.api)
    subject.userProperty = "$error"
    let answer = try bench.attest(bench.app, subject)
    _ = try bench.claims(answer.token)
    let code = try bench.management.read(responseCode: answer.responseCode)
    #expect(code.properties.contains(.measurementError))
    let device = try #require(try bench.management.devices(latest: 1).first)
    #expect(device.shown.text("userProperty") == "$error")
  }

  @Test func `annotations, address, issuer, audience and times are the policy's`() throws {
    let bench = try Bench(policy: [
      .annotations: "debug,first-fetch", .addressTracking: "off", .responseCodes: "off",
      .issuer: "door.example.com", .issuedAt: "on", .subject: "on",
      .tokenLifetime: "60",
    ])
    let answer = try bench.attest(bench.app)
    let claims = try bench.claims(answer.token, audience: Bench.api)
    #expect(claims.annotations == ["first-fetch"])
    #expect(claims.address == nil && claims.attestationCode == nil && answer.responseCode == "")
    #expect(claims.issuer == "door.example.com" && claims.audience == [Bench.api])
    #expect(claims.issuedAt == bench.clock.now)
    #expect(claims.subject == claims.instance.map { Base64.encode($0) })
    #expect(claims.expiry == bench.clock.now + 60)
    #expect(try bench.claims(bench.attest(bench.app).token, audience: Bench.api).annotations == [])
    let device = try #require(try bench.management.devices(latest: 1).first)
    #expect(device.shown["ip"] == nil)
  }

  @Test func `one device can be annotated beyond the policy`() throws {
    let bench = try Bench()
    try bench.management.annotate(.every, for: bench.app.device)
    #expect(try bench.claims(bench.attest(bench.app).token).annotations == ["first-fetch"])
  }

  @Test func `keys of key sets sign and seal their APIs' tokens`() throws {
    let bench = try Bench()
    try bench.management.addKey(.es256, id: "es")
    try bench.management.addKey(.edDSA)
    try bench.management.addKey(.a256kw, id: "wrap")
    try bench.management.add(API("es.example.com", keyID: "es"))
    try bench.management.add(API("ed.example.com", keyID: "1"))
    try bench.management.add(API("kw.example.com", .measurement, keyID: "wrap"))
    let response = bench.get("/v1/jwks/door")
    let published = try JWKS(parsing: response.body.span)
    #expect(published.keys.map(\.id) == ["1", "es"])
    func policy(_ host: String) throws -> ClaimsPolicy {
      try ClaimsPolicy(clock: bench.clock.clock, audience: host)
    }
    for host in ["es.example.com", "ed.example.com"] {
      let good = try bench.attest(bench.app, name: host)
      _ = try JWSVerifier(published).claims(of: good.token, under: policy(host))
      try bench.management.set(.fail, for: bench.app.device)
      let bad = try bench.attest(bench.app, name: host)
      #expect(throws: JOSEError.signatureWrong) {
        try JWSVerifier(published).claims(of: bad.token, under: policy(host))
      }
      try bench.management.set(nil, for: bench.app.device)
    }
    let sealed = try bench.attest(bench.app, .measurement, name: "kw.example.com")
    let key = try bench.management.key("wrap")
    let claims = try JWEDecrypter(key).claims(of: sealed.token, under: policy("kw.example.com"))
    #expect(claims.measurement != nil)
  }

  @Test(arguments: [
    ("full", MeasurementPolicy.full), ("incremental", .incremental),
    ("incremental-trusting-owner", .trusting),
  ])
  func `each way to measure has a word, and the trusting one says so`(
    _ word: String, _ measurement: MeasurementPolicy
  ) throws {
    var policy = Policy()
    #expect(policy.measurement == .full)
    try policy.set(.measurement, to: word)
    #expect(policy.measurement == measurement)
    #expect(policy[.measurement] == word)
  }

  @Test(arguments: PolicySetting.allCases)
  func `each setting's text reads back, and nonsense is refused`(_ setting: PolicySetting) throws {
    var policy = Policy()
    let text = policy[setting]
    try policy.set(setting, to: text)
    #expect(policy == Policy())
    #expect(!setting.meaning.isEmpty)
    let free: [PolicySetting] = [.issuer, .sdkVersions]
    if !free.contains(setting) {
      for nonsense in ["", " ", "maybe", "-1", "99999999999999999999"]
      where !(nonsense.isEmpty && [.rejection, .annotations].contains(setting)) {
        #expect(throws: ServiceError.self) { try policy.set(setting, to: nonsense) }
      }
    }
    for setting in free {
      #expect(throws: ServiceError.self) {
        try policy.set(setting, to: String(repeating: "1,", count: 2_049))
      }
    }
    #expect(policy == Policy())
  }

  @Test func `a response code says what was seen, and no other text does`() throws {
    let key = secret([UInt8](repeating: 5, count: 32))
    var texts: Set<String> = []
    for bits in 0..<UInt32(Property.allCases.count) {
      let code = ResponseCode(isPassed: bits % 2 == 0, properties: Properties(rawValue: 1 << bits))
      let text = code.text(key: key, noise: UInt64(bits))
      texts.insert(text)
      #expect(text.utf8.count == 10)
      #expect(ResponseCode(text, key: key) == code)
      #expect(ResponseCode(text.lowercased(), key: key) == code)
      #expect(ResponseCode(text, key: secret([UInt8](repeating: 6, count: 32))) == nil)
    }
    #expect(texts.count == Property.allCases.count)
    for text in ["", "AAAAAAAAA", "AAAAAAAAAAA", "AAAAAAAAA1", "ÄAAAAAAAA", "AAAA AAAAA"] {
      #expect(ResponseCode(text, key: key) == nil)
    }
    // One of 2,048 random texts passes for a code; of these 3,000 two do.
    var generator = SeededGenerator(seed: 3)
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    let found = (0..<3_000).filter { _ in
      let text = String((0..<10).map { _ in alphabet.randomElement(using: &generator)! })
      return ResponseCode(text, key: key) != nil
    }
    #expect(found.count <= 2)
  }
}
