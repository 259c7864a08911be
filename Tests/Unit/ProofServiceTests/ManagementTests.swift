// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct ManagementTests {
  @Test func `every change of APIs and pins raises the serial, and apps get it signed`() throws {
    let bench = try Bench()
    let management = bench.management
    var serial = try management.configuration().serial
    func expectRaised(_ body: () throws -> Void) throws {
      try body()
      let now = try management.configuration().serial
      #expect(now == serial + 1)
      serial = now
    }
    let pin = Base64.encode([UInt8](repeating: 3, count: 32))
    try expectRaised { try management.add(API("new.example.com")) }
    try expectRaised { try management.set(HostPins("new.example.com", [pin])) }
    try expectRaised { try management.set(HostPins("*", [pin])) }
    try expectRaised { try management.setURL("https://other.example.com") }
    try expectRaised { try management.setServicePins([pin]) }
    try expectRaised { try management.forcePins(confirmation: "YES") }
    try expectRaised { try management.removePins("*") }
    try expectRaised { try management.removeAPI(Bench.plain) }
    #expect(throws: ServiceError.notConfirmed) { try management.forcePins(confirmation: "yes") }
    #expect(try management.configuration().serial == serial)

    let response = bench.get("/v1/config/door", query: ["serial": "1"])
    #expect(response.status == 200)
    let token = String(decoding: response.body, as: UTF8.self)
    let key = try bench.account.snapshot().configurationKey.key
    let publicKey = try #require(key.publicKey)
    let payload = try JWSVerifier(publicKey).verify(token).payload
    guard case .object(let claims) = try JSONValue(parsing: payload.span) else {
      Issue.record("no object")
      return
    }
    #expect(claims.text("acc") == "door" && claims.integer("ser") == Int64(serial))
    #expect(claims.integer("fps") == Int64(serial) - 2)
    #expect(claims.text("url") == "https://other.example.com" && claims.texts("spk") == [pin])
    #expect(claims.text("key") == Base64.encode(publicKey.publicBytes!, .url))
    #expect(
      claims["dom"]
        == [
          "api.example.com": "token", "lock.example.com": "measurement",
          "new.example.com": "token",
        ])
    #expect(
      claims["pin"]
        == [
          "api.example.com": [], "lock.example.com": [], "new.example.com": [.string(pin)],
        ])
    #expect(bench.get("/v1/config/door", query: ["serial": "\(serial)"]).status == 204)
    #expect(bench.get("/v1/config/door", query: ["serial": "x"]).status == 400)
    #expect(bench.get("/v1/config/door").status == 200)
    let answer = try bench.attest(bench.app)
    #expect(answer.configSerial == serial && answer.forcedPinsSerial == serial - 2)
  }

  @Test func `a configuration has a fail-over address and regions only if it was told so`() throws {
    let bench = try Bench()
    let management = bench.management
    func claims() throws -> JSONObject {
      let text = try management.signedConfiguration()
      let payload = try #require(Base64.decode(String(text.split(separator: ".")[1]), .url))
      guard case .object(let claims) = try JSONValue(parsing: payload.span) else { return [:] }
      return claims
    }
    let plain = try claims().members.map(\.name)
    #expect(plain.sorted() == ["acc", "dom", "fps", "iat", "key", "pin", "ser", "spk", "url"])
    try management.setFailover("https://standby.example.com/")
    let abroad = try RegionAddresses(
      url: "https://a.example.com", failover: "https://b.example.com")
    try management.setRegion("abroad", to: abroad)
    try management.setRegion("moon-1", to: RegionAddresses(url: "https://[::1]:8443"))
    #expect(try claims().text("alt") == "https://standby.example.com")
    #expect(
      try claims()["reg"] == [
        "abroad": ["url": "https://a.example.com", "alt": "https://b.example.com"],
        "moon-1": ["url": "https://[::1]:8443"],
      ])
    // The settings outlive a change of something else, and the account's next opening.
    try management.setURL("https://other.example.com")
    #expect(try management.configuration().regions["abroad"] == abroad)
    try management.setFailover(nil)
    try management.setRegion("abroad", to: nil)
    try management.setRegion("moon-1", to: nil)
    #expect(try claims().members.map(\.name) == plain)
  }

  @Test func `a region or a fail-over address that apps could not use is refused`() throws {
    let bench = try Bench()
    let management = bench.management
    let url = try management.configuration().url
    #expect(throws: ServiceError.self) { try management.setFailover(url) }
    #expect(throws: ServiceError.self) { try management.setFailover("http://standby.example.com") }
    #expect(throws: ServiceError.self) { _ = try RegionAddresses(url: url, failover: url) }
    let addresses = try RegionAddresses(url: url)
    for name in ["", "home", "Abroad", "a b", String(repeating: "a", count: 33)] {
      #expect(throws: ServiceError.self) { try management.setRegion(name, to: addresses) }
    }
    #expect(throws: ServiceError.unknown("region", name: "mars")) {
      try management.setRegion("mars", to: nil)
    }
    try management.setFailover("https://standby.example.com")
    #expect(throws: ServiceError.self) { try management.setURL("https://standby.example.com") }
    for number in 0..<RegionAddresses.countMax {
      try management.setRegion("r\(number)", to: addresses)
    }
    #expect(throws: ServiceError.self) { try management.setRegion("more", to: addresses) }
    #expect(try management.configuration().regions.count == RegionAddresses.countMax)
  }

  @Test func `the short configuration names account, host and the key's fingerprint`() throws {
    let bench = try Bench()
    let parts = try bench.management.initialConfiguration().split(separator: "#")
    #expect(parts.count == 2 && parts[0] == "door@attest.example.com:8443")
    let key = try bench.account.snapshot().configurationKey.key
    let fingerprint = Digest(hashing: Array("pfa1.config-key.".utf8) + key.publicBytes!)
    #expect(Base64.decode(String(parts[1])) == fingerprint.bytes)
  }

  @Test func `existing, unknown and used names are refused`() throws {
    let bench = try Bench()
    let management = bench.management
    #expect(throws: ServiceError.alreadyThere("API", name: Bench.api)) {
      try management.add(API(Bench.api.uppercased()))
    }
    #expect(throws: ServiceError.unknown("API", name: "none")) { try management.removeAPI("none") }
    #expect(throws: ServiceError.unknown("key", name: "none")) {
      try management.add(API("k.example.com", keyID: "none"))
    }
    try management.addKey(.es256, id: "es")
    #expect(throws: ServiceError.self) {
      try management.add(API("k.example.com", .measurement, keyID: "es"))
    }
    try management.add(API("k.example.com", keyID: "es"))
    #expect(throws: ServiceError.inUse("key “es”", by: "k.example.com")) {
      try management.removeKey("es")
    }
    try management.removeAPI("k.example.com")
    try management.removeKey("es")
    #expect(throws: ServiceError.self) { try API("a b") }
    #expect(throws: ServiceError.self) { try HostPins("a.example.com", ["short"]) }
    #expect(throws: ServiceError.self) {
      try management.addSDKBuild(key: secret([UInt8](1...16)), name: "again", mode: .production)
    }
    #expect(throws: ServiceError.self) {
      try management.addSDKBuild(key: secret([1]), name: "short", mode: .production)
    }
  }

  @Test func `a name has 128 bytes at most, and no control characters`() throws {
    for name in ["", "Ada's lock", String(repeating: "ü", count: 64)] {
      #expect(try Management.checked(name: name) == name)
    }
    for name in [String(repeating: "a", count: 129), "a\nb", "\u{1f}", "a\u{0}"] {
      #expect(throws: ServiceError.self) { try Management.checked(name: name) }
    }
  }

  @Test func `a changed secret ends the old one's tokens`() throws {
    let bench = try Bench()
    let old = try bench.attest(bench.app).token
    try bench.management.changeKey(of: .secret, isPrintable: true)
    let text = try bench.management.secret().withBytes { Array(copying: $0) }
    #expect(text.count == 64 && text.allSatisfy { (0x21..<0x7F).contains($0) })
    #expect(throws: JOSEError.signatureWrong) { try bench.claims(old) }
    _ = try bench.claims(bench.attest(bench.app).token)
  }

  @Test func `an error of an unknown name says where names are listed, grammatically`() {
    let setting = ServiceError.unknown("setting", name: "x").description
    #expect(setting == "The account has no setting “x”. “proofctl policy show” lists the settings.")
    #expect(ServiceError.unknown("API", name: "x").description.contains("“list”"))
    #expect(!ServiceError.unknown("verb", name: "x").description.contains("“list”"))
    #expect(
      ServiceError.alreadyThere("API", name: "x").description
        == "The API “x” exists already. The verb “api change” changes it.")
    #expect(
      ServiceError.alreadyThere("key", name: "x").description
        == "The key “x” exists already. Choose another name, or remove it first.")
  }

  @Test func `example tokens are as an app's, valid or not, bound or not`() throws {
    let bench = try Bench()
    let good = try bench.management.exampleToken(for: Bench.api, boundTo: "Bearer x")
    #expect(try bench.claims(good).binding == Claims.Binding(to: "Bearer x"))
    let bad = try bench.management.exampleToken(for: Bench.api, isValid: false)
    #expect(try bench.management.check(token: good).isValid)
    #expect(try !bench.management.check(token: bad).isValid)
    let sealed = try bench.management.exampleToken(for: Bench.lockAPI)
    #expect(try bench.management.check(token: sealed).isValid)
    let lost = try bench.management.exampleToken(for: Bench.lockAPI, isValid: false)
    #expect(try !bench.management.check(token: lost).isValid)
    #expect(try bench.management.check(token: lost).problem.contains("cannot be opened"))
    let measured = try bench.management.exampleToken(for: Bench.lockAPI, isMeasured: true)
    let claims = try bench.management.check(token: measured)
    #expect(claims.isValid && claims.claims.text("mmd") == "development")
    #expect(["imh", "dmh", "mpk", "dpk"].allSatisfy { claims.claims.text($0) == "(secret)" })
    #expect(throws: ServiceError.self) {
      try bench.management.exampleToken(for: Bench.api, isMeasured: true)
    }
    bench.clock.advance(by: 300)
    let late = try bench.management.check(token: good)
    #expect(late.isAuthentic && late.isExpired && !late.isValid)
    #expect(throws: ServiceError.self) { try bench.management.exampleToken(for: Bench.plain) }
    #expect(throws: ServiceError.self) { try bench.management.check(token: "nonsense") }
  }

  @Test func `a loggable token is checked by its signature's first characters`() throws {
    let bench = try Bench()
    let token = try bench.attest(bench.app).token
    let parts = token.split(separator: ".").map(String.init)
    let payload = try #require(Base64.decode(parts[1], .url))
    guard case .object(var claims) = try JSONValue(parsing: payload.span) else { return }
    claims["sip"] = .string(String(parts[2].prefix(6)))
    let check = try bench.management.check(token: JSONValue.object(claims).text)
    #expect(check.form == .loggable && check.isValid && check.responseCode?.isPassed == true)
    claims["ip"] = "198.51.100.1"
    #expect(try !bench.management.check(token: JSONValue.object(claims).text).isValid)
  }

  @Test(arguments: ["1e300", "1e999", "-1e300", "9223372036854775808", "0.5", "1"])
  func `a stranger's token may say any end`(_ end: String) throws {
    let bench = try Bench()
    let parts = [#"{"alg":"HS256"}"#, #"{"exp":\#(end)}"#, "no signature"]
    let token = parts.map { Base64.encode(Array($0.utf8), .url) }.joined(separator: ".")
    for text in [token, #"{"exp":\#(end),"sip":"AAAAAA"}"#] {
      let check = try bench.management.check(token: text)
      #expect(!check.isAuthentic && !check.isValid)
    }
  }

  @Test func `secrets of a sealed token are not shown`() throws {
    let bench = try Bench()
    let token = try bench.attest(bench.app, .measurement, name: Bench.lockAPI).token
    let shown = try bench.management.check(token: token)
    #expect(shown.isValid)
    for name in ["imh", "dmh", "mpk", "dpk"] { #expect(shown.claims.text(name) == "(secret)") }
  }

  @Test func `the latest device has a name`() throws {
    let bench = try Bench()
    #expect(throws: ServiceError.self) { try bench.management.device(named: "latest") }
    _ = try bench.attest(bench.app)
    let device = bench.app.device
    for name in ["latest", device.description, Base64.encode(device.bytes)] {
      #expect(try bench.management.device(named: name) == device)
    }
    #expect(throws: ServiceError.self) { try bench.management.device(named: "nobody") }
    let summary = try #require(try bench.management.devices().first)
    #expect(summary.shown.text("appName") == "door 1.0")
    #expect(summary.shown["machines"] == nil)
  }

  @Test func `an account never gets more than its configuration can say`() throws {
    let bench = try Bench()
    let pins = (0..<100).map { Base64.encode([UInt8](repeating: $0, count: 32)) }
    let names = (0..<20).map { "h\($0).example.com" }
    var added: [String] = []
    for name in names {
      do {
        try bench.management.set(HostPins(name, pins))
        added.append(name)
      } catch {
        #expect("\(error)".contains("configuration is “too long for apps”"))
      }
    }
    #expect((1..<names.count).contains(added.count))
    #expect(bench.get("/health").status == 200)
    #expect(throws: ServiceError.self) { try bench.management.setServicePins(pins + pins) }
    #expect(throws: ServiceError.self) { try bench.management.setServicePins(["no pin"]) }
    try bench.management.removePins(added[0])
    try bench.management.set(HostPins(names[19], pins))
    // An account that is in that state already can leave it.
    let row = try #require(try bench.store.row(added[1], of: .pin))
    try bench.store.apply(names.map { .put(.pin, $0, row) })
    #expect(bench.get("/health").status == 503)
    for name in names { try bench.management.removePins(name) }
    #expect(bench.get("/health").status == 200)
  }

  @Test func `an account never gets more keys than can be published`() throws {
    let bench = try Bench()
    try bench.store.apply(
      (0..<256).map { index in
        let sealed = bench.account.vault.seal(secret([UInt8](1...64)), for: "key/k\(index)")
        let key = KeySetKey("k\(index)", .hs256, added: 0, sealedKey: sealed)
        // Its name is the record's key.
        #expect(key.fields["kid"] == nil && key.shown["kid"] != nil)
        return .insert(.key, key.id, key.bytes)
      })
    #expect(throws: ServiceError.self) { try bench.management.addKey(.hs256) }
    #expect(throws: ServiceError.alreadyThere("key", name: "k1")) {
      try bench.management.addKey(.hs256, id: "k1")
    }
    #expect(bench.get("/v1/jwks/door").status == 200)
  }

  @Test func `concurrent changes of operators are all kept`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    let device = bench.app.device
    store.interrupt { try! bench.management.changePolicy { $0.tokenLifetime = 60 } }
    _ = try bench.management.perform("policy/set", ["issuer": "us"])
    let policy = try bench.management.policy()
    #expect(policy.tokenLifetime == 60 && policy.issuer == "us")
    for _ in 0..<2 {
      store.interrupt { try! bench.management.set(.fail, for: device) }
      try bench.management.annotate(Properties([.debug]), for: device)
      let rule = try bench.account.snapshot().rules[device]
      #expect(rule == DeviceRule(device, .fail, annotations: ["debug"]))
      store.interrupt { try! bench.management.annotate([], for: device) }
      try bench.management.set(nil, for: device)
      #expect(try bench.store.rows(of: .deviceRule) == [])
    }
    store.interrupt { try! bench.management.add(API("one.example.com")) }
    try bench.management.add(API("two.example.com"))
    #expect(try bench.management.apis().count == 5)
  }

  @Test func `an API that is refused leaves the pins of the one that is there`() throws {
    let bench = try Bench()
    let pin = Base64.encode([UInt8](repeating: 3, count: 32))
    let api: JSONObject = ["host": "x.example.com", "pins": [.string(pin)]]
    #expect(try manage(bench, "api/add", api).status == 200)
    for pins in [[], ["short"]] as [JSONValue] {
      #expect(try manage(bench, "api/add", ["host": "x.example.com", "pins": pins]).status != 200)
    }
    let other: JSONObject = ["host": "y.example.com", "pins": ["short"]]
    #expect(try manage(bench, "api/add", other).status == 400)
    #expect(try bench.management.pins() == [HostPins("x.example.com", [pin])])
    #expect(try !bench.management.apis().contains { $0.host == "y.example.com" })
  }

  @Test func `a row under another spelling of its key is damage, and no crash`() throws {
    for table in [StoreTable.registration, .api] {
      let bench = try Bench()
      let row = try #require(try bench.store.rows(of: table).first)
      try bench.store.apply([.put(table, row.key.uppercased(), row.value)])
      #expect(bench.get("/health").status == 503, "\(table)")
    }
  }

  // MARK: Over HTTP

  private func manage(
    _ bench: Bench, _ verb: String, _ arguments: JSONObject = [:], token: String? = nil
  ) throws -> (status: Int, value: JSONValue) {
    let response = bench.service.respond(
      to: HTTPRequest(
        method: "POST", path: "/v1/manage/\(verb)",
        headers: ["authorization": "Bearer \(token ?? bench.managementToken)"],
        body: Array(JSONValue.object(arguments).text.utf8), peer: "192.0.2.9"))
    return (response.status, try JSONValue(parsing: response.body.span))
  }

  @Test func `every verb needs the management token`() throws {
    let bench = try Bench()
    for token in ["", "wrong", bench.managementToken + "x"] {
      #expect(try manage(bench, "secret/get", token: token).status == 401)
    }
    #expect(bench.post("/v1/manage/secret/get", []).status == 401)
    #expect(bench.get("/v1/manage/secret/get").status == 405)
    let new = try bench.management.changeManagementToken()
    #expect(try manage(bench, "api/list").status == 401)
    #expect(try manage(bench, "api/list", token: new).status == 200)
    #expect(bench.service.metrics[.managementRefused] == 5)
  }

  @Test func `every verb works over HTTP as on the store`() throws {
    let bench = try Bench()
    _ = try bench.attest(bench.app)
    let pin = Base64.encode([UInt8](repeating: 3, count: 32))
    let hardware = String(repeating: "ab", count: 16)
    let digest = String(repeating: "cd", count: 32)
    let steps: [(String, JSONObject)] = [
      ("api/add", ["host": "x.example.com"]), ("api/list", [:]),
      ("keyset/add", ["alg": "ES256", "kid": "k"]),
      ("api/add", ["host": "y.example.com", "kind": "token", "kid": "k"]),
      ("api/remove", ["host": "y.example.com"]), ("keyset/list", [:]), ("keyset/jwks", [:]),
      ("keyset/get", ["kid": "k"]), ("keyset/remove", ["kid": "k"]),
      ("keyset/add", ["alg": "dir", "kid": "d"]), ("keyset/get", ["kid": "d"]),
      (
        "registration/add",
        ["digest": .string(digest), "name": "n", "development": true, "expireAfter": 60]
      ),
      ("registration/list", [:]), ("registration/remove", ["digest": .string(digest)]),
      ("policy/show", [:]), ("policy/set", ["token-lifetime": "60", "secure-strings": "on"]),
      ("device/list", ["count": 3]), ("device/pass", ["device": "latest"]),
      ("device/fail", ["device": "latest"]), ("device/clear", ["device": "latest"]),
      ("device/annotate", ["device": "latest", "annotations": "debug"]),
      ("pin/set", ["host": "x.example.com", "pins": [.string(pin)]]), ("pin/list", [:]),
      ("pin/remove", ["host": "x.example.com"]), ("pin/service", ["pins": []]),
      ("pin/force", ["confirm": "YES"]), ("config/show", [:]),
      ("config/url", ["url": "https://b.example.com"]),
      ("config/failover", ["url": "https://c.example.com"]), ("config/failover", [:]),
      (
        "config/region",
        ["region": "r", "url": "https://d.example.com", "failover": "https://e.example.com"]
      ),
      ("config/region", ["region": "r"]),
      ("token/example", ["host": "x.example.com", "valid": false, "boundTo": "t"]),
      ("token/example", ["host": "x.example.com", "measured": false]),
      ("sdk/new", ["name": "s", "mode": "development"]), ("sdk/list", [:]),
      ("sdk/add", ["key": "AAECAwQFBgcICQoLDA0ODw==", "name": "s"]), ("sdk/config-string", [:]),
      ("sdk/revoke", ["id": .string(bench.app.key.id.description)]),
      (
        "hardware/add",
        [
          "id": .string(hardware), "publicKey": .string(digest), "name": "lock",
          "features": ["token-2"],
        ]
      ),
      (
        "hardware/change",
        [
          "id": .string(hardware), "features": ["token-2"],
          "factorySecret": .string(Base64.encode([UInt8](1...32))),
        ]
      ),
      ("hardware/sealed-secret", ["id": .string(hardware)]), ("hardware/factory-key", [:]),
      ("hardware/replace-factory-key", [:]),
      ("hardware/list", [:]), ("hardware/revoke", ["id": .string(hardware)]),
      ("string/set", ["name": "a", "value": "b"]), ("string/list", [:]),
      ("string/remove", ["name": "a"]), ("metrics/show", [:]), ("secret/get", [:]),
      ("secret/get", ["encoding": "base64url"]),
      ("secret/change", ["printable": true, "atOnce": true]),
      ("sealing/get", [:]), ("sealing/change", ["atOnce": true]), ("devkey/change", [:]),
      ("devkey/get", [:]),
      ("devkey/remove", [:]), ("messagekey/get", [:]), ("messagekey/change", [:]),
      ("messagekey/get", ["encoding": "base64url"]), ("messagekey/remove", [:]),
      ("secret/list", [:]), ("secret/next", ["printable": true]), ("secret/keys", [:]),
      ("secret/promote", [:]), ("secret/retire", ["atOnce": true]), ("sealing/next", [:]),
      ("sealing/drop", [:]), ("customkey/next", [:]), ("customkey/promote", ["atOnce": true]),
      ("customkey/list", [:]), ("keyset/add", ["alg": "HS256", "kid": "h1"]),
      ("keyset/add", ["alg": "HS256", "kid": "h2"]), ("keyset/get", ["kid": "h1"]),
      ("api/change", ["host": "x.example.com", "kid": "h1", "audience": "off"]),
      ("keyset/change", ["kid": "h1", "to": "h2", "atOnce": true]),
      ("keyset/remove", ["kid": "h1", "atOnce": true]),
      ("api/change", ["host": "x.example.com", "ownKey": true, "audience": "policy"]),
      ("config/change-key", [:]), ("config/retire-keys", ["confirm": "YES"]),
      ("management/list", [:]), ("management/add", ["name": "ci", "role": "enrol"]),
      ("management/change", ["name": "ci"]), ("management/remove", ["name": "ci"]),
    ]
    for (verb, arguments) in steps {
      let (status, value) = try manage(bench, verb, arguments)
      #expect(status == 200, "\(verb): \(value.text)")
    }
    #expect(try bench.management.policy().tokenLifetime == 60)
    #expect(try bench.management.hardware().first?.isRevoked == true)
    #expect(try manage(bench, "management/change").status == 200)
  }

  @Test func `a key is shown in the base64 that is asked for`() throws {
    let bench = try Bench()
    func shown(_ encoding: String?) throws -> String {
      let arguments: JSONObject = encoding.map { ["encoding": .string($0)] } ?? [:]
      guard case .object(let value) = try manage(bench, "secret/get", arguments).value,
        case .string(let text)? = value["secret"]
      else { return "" }
      return text
    }
    let bytes = try #require(Base64.decode(shown(nil)))
    #expect(try shown("base64") == Base64.encode(bytes) && shown(nil) == Base64.encode(bytes))
    #expect(try shown("base64url") == Base64.encode(bytes, .url))
    #expect(Base64.encode(bytes) != Base64.encode(bytes, .url))
  }

  @Test func `mistakes have their status and a sentence`() throws {
    let bench = try Bench()
    let steps: [(String, JSONObject, Int)] = [
      ("api/none", [:], 404), ("none/list", [:], 404), ("api/add", [:], 400),
      ("api/add", ["host": 3], 400), ("api/add", ["host": "a.example.com", "more": 1], 404),
      ("api/add", ["host": .string(Bench.api)], 409), ("api/remove", ["host": "none"], 404),
      ("policy/set", ["token-lifetime": "0"], 400), ("policy/set", ["none": "1"], 404),
      ("device/pass", ["device": "x"], 400), ("device/list", ["count": 0], 400),
      ("pin/force", ["confirm": "no"], 409), ("arc/read", ["code": "AAAA"], 400),
      ("registration/add", ["digest": "00"], 400), ("sdk/new", ["mode": "x"], 400),
      ("secret/get", ["encoding": "hex"], 400), ("keyset/add", ["alg": "RS384"], 400),
      ("messagekey/none", [:], 404), ("secret/change", [:], 409), ("secret/promote", [:], 409),
      ("secret/retire", [:], 409), ("secret/drop", [:], 409), ("secret/none", [:], 404),
      ("management/add", ["name": "a b", "role": "all"], 400),
      ("management/add", ["name": "a", "role": "king"], 400),
      ("management/add", ["name": "owner", "role": "read"], 409),
      ("management/remove", ["name": "owner"], 409), ("management/remove", ["name": "x"], 404),
      ("api/change", ["host": "none.example.com", "ownKey": true], 404),
      ("api/change", ["host": .string(Bench.api), "kid": "x", "ownKey": true], 400),
      ("api/change", ["host": .string(Bench.api), "audience": "perhaps"], 400),
      ("api/change", ["host": .string(Bench.plain), "kid": "x"], 400),
      ("keyset/change", ["kid": "x", "to": "y"], 404),
      ("config/retire-keys", ["confirm": "y"], 409),
      ("config/failover", ["url": "ftp://x"], 400), ("config/region", ["region": "r"], 404),
      ("config/region", ["region": "r", "failover": "https://x"], 400),
    ]
    for (verb, arguments, expected) in steps {
      let (status, value) = try manage(bench, verb, arguments)
      #expect(status == expected, "\(verb) \(value.text)")
      guard case .object(let object) = value else {
        Issue.record("\(verb)")
        continue
      }
      #expect(object.text("error")?.isEmpty == false)
    }
  }
}
