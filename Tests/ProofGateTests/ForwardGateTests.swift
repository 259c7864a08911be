import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend
@testable import ProofGate

/// The answers of a gate to its proxy: what passes, what the API learns, and what holds while the gate cannot judge.
@Suite struct ForwardGateTests {
  private static let now = UInt64(Site.start)

  private static let rules = """
    route open
      path /open
      need none
    route watched
      path /watched
      need proof
      mode watch
    route lenient
      path /lenient
      need proof
      doubt pass
    route unchecked
      methods GET
      path /unchecked
      need proof
      body unchecked
    route rest
      path /*
      need proof
    """

  @Test("A proof passes, and the verdict has handle, rule and digest for this request alone")
  func passes() throws {
    let site = try ForwardSite()
    let (answer, verdict) = try site.ask("POST", "/pay", body: [1, 2])
    #expect(answer.status == 200 && answer.code == "passed" && answer.handle == site.handle)
    #expect(verdict?.body == Digest(hashing: [1, 2]) && verdict?.rule == "rest")
    #expect(verdict?.app.map { Base64.encode($0.handle.bytes, .url) } == site.handle)
    #expect(verdict?.reference == answer.reference && verdict?.reason == nil)
  }

  @Test(
    "A GET without a digest has the digest of an empty body in the verdict, unless the rule leaves bodies unchecked"
  )
  func emptyBody() throws {
    let site = try ForwardSite()
    #expect(try site.ask("GET", "/prices").verdict?.body == Digest(hashing: []))
    #expect(try site.ask("GET", "/unchecked").verdict?.body == nil)
    let compact = try ForwardSite(form: "compact")
    #expect(try compact.ask("GET", "/prices").answer.code == "request-1", "its form is another")
  }

  @Test("A refusal has its class, a reference and no verdict")
  func refusals() throws {
    let site = try ForwardSite()
    let fields = try site.proven("POST", "/pay", body: [1])
    #expect(site.answer("POST", "/pay", fields).status == 200)
    let again = site.answer("POST", "/pay", fields)
    #expect(again.status == 401 && again.code == "request-22")
    let names = again.fields.map(\.name)
    #expect(names == ["Proof-Time", "Proof-Refusal", "Proof-Reference"])
    let foreign = site.answer("GET", "/open", [("Proof-Verdict", "x")])
    #expect(
      foreign.status == 403 && foreign.code == "foreign-field" && foreign.route == "unmatched")
    #expect(site.answer("GET", "/open", host: "other.example.com").code == "host")
  }

  @Test("A rule that needs nothing judges nothing, and lets no other method through")
  func open() throws {
    let site = try ForwardSite()
    let answer = site.answer("GET", "/open")
    let verdict = try site.verdict(answer, "GET", "/open")
    #expect(answer.status == 200 && verdict?.app == nil && verdict?.body == nil)
    let changed = site.answer("GET", "/open", [("X-HTTP-Method-Override", "DELETE")])
    #expect(changed.status == 403 && changed.code == "method-override")
  }

  @Test(
    "A rule that watches, and a gate that watches all, let pass and say why they would not have")
  func watching() throws {
    let site = try ForwardSite()
    let watched = site.answer("POST", "/watched")
    #expect(watched.status == 200 && watched.isWatched && watched.code == "request-1")
    #expect(try site.verdict(watched, "POST", "/watched")?.reason == watched.reason)
    #expect(!watched.fields.contains { $0.name == "Proof-Refusal" })
    let all = try ForwardSite(watchesAll: true)
    #expect(all.answer("POST", "/pay").status == 200)
    let ambiguous = all.answer("GET", "/a//b")
    #expect(ambiguous.status == 200 && ambiguous.isWatched && ambiguous.fields.isEmpty)
  }

  @Test(
    "A configuration that is too old counts no more, unless the rule says so for methods that change nothing"
  )
  func age() throws {
    let site = try ForwardSite()
    site.site.clock.now += 3600
    #expect(try site.ask("POST", "/pay", body: [1]).answer.status == 200)
    site.site.clock.now += 1
    #expect(site.gate.isTooOld(at: UInt64(site.site.clock.now)))
    let old = try site.ask("POST", "/pay", body: [1]).answer
    #expect(old.status == 503 && old.code == "configuration-age")
    #expect(try site.ask("POST", "/lenient", body: [1]).answer.status == 503)
    #expect(try site.ask("GET", "/lenient").answer.status == 200)
    #expect(site.answer("GET", "/lenient").status == 401, "it still judges")
  }

  @Test("While the replay store does not answer, nothing passes but what the rule lets pass")
  func store() throws {
    let site = try ForwardSite()
    site.replay.isFailing = true
    for (method, path) in [("POST", "/pay"), ("GET", "/prices"), ("POST", "/lenient")] {
      let answer = try site.ask(method, path, body: method == "POST" ? [1] : nil).answer
      #expect(answer.status == 503 && answer.code == "store", "\(method) \(path)")
    }
    #expect(try site.ask("GET", "/lenient").answer.status == 200)
  }

  @Test("Rules that cannot hold are refused at the start")
  func errors() throws {
    #expect(throws: ForwardGateError.bodyForm) { try ForwardSite(form: "body") }
    #expect(throws: RouteFileError.self) {
      try ForwardSite(rules: "route a\nhost other.example.com\nneed proof\n")
    }
  }

  /// A gate with a signed configuration, and an app that it admits.
  private struct ForwardSite {
    let site: Site
    let replay = SharedStore()
    let gate: ForwardGate
    let handle: String
    private let secret: GateSecret
    private let token: String

    init(form: String = "standard", watchesAll: Bool = false, rules: String = rules) throws {
      site = try Site()
      let issuer = IssuerKey.random()
      let gateSecret = [UInt8](repeating: 9, count: 32)
      let key = try GateIdentity.Key(SecretBytes(copying: gateSecret.span), number: 1)
      let configuration = try Self.configuration(
        site.id, form, key.publicKey.bytes, issuer.publicKey.bytes)
      let identity = try configuration.identity([
        GateSecretKey(SecretBytes(copying: gateSecret.span))
      ])
      var settings = RequestVerifier.Settings()
      settings.clock = site.clock.clock
      let requests = try RequestVerifier(
        identity, own: site.own, replay: replay, settings: settings)
      gate = try ForwardGate(
        ForwardGate.Rules(
          configuration, RouteFile(Array(rules.utf8)), .original, takesRouteNames: false,
          watchesAll: watchesAll), requests, own: site.own)
      secret = try GateSecret.random(generation: 1)
      handle = Base64.encode(secret.keys.handle.bytes, .url)
      let grant = GateGrant(
        for: site.id, instance: .random(), mode: .production, issued: ForwardGateTests.now,
        notAfter: ForwardGateTests.now + 36_000, firstSeen: ForwardGateTests.now, secret: secret)
      token = Base64.encode(try grant.sealed(to: key.publicKey, signedBy: issuer).bytes, .url)
    }

    private static func configuration(
      _ id: GateID, _ form: String, _ key: [UInt8], _ issuer: [UInt8]
    ) throws -> GateConfiguration {
      let signing = try JSONWebKey.random(.edDSA)
      let publicKey = try #require(signing.publicBytes)
      func text(_ bytes: [UInt8]) -> String { Base64.encode(bytes, .url) }
      let payload = """
        {"acc":"demo","nam":"web","gat":"\(text(id.bytes))","ser":7,"iat":\(now),"use":3600,\
        "mod":"production","flr":0,"frm":"\(form)","hdr":{"proof":"proof","token":"proof-token"},\
        "hst":["\(Site.host)"],"xks":[{"num":1,"sta":"active","key":"\(text(key))"}],"aks":[],\
        "iss":[{"id":"i","sta":"active","key":"\(text(issuer))"}],"rev":[],"evt":[],\
        "key":"\(text(publicKey))"}
        """
      return try GateConfiguration(
        JWSSigner(signing).sign(payload: Array(payload.utf8).span, type: "gate+jwt"),
        signedBy: Digest(hashing: Array("pfa1.config-key.".utf8) + publicKey))
    }

    /// The header of a request that the app proves.
    func proven(
      _ method: String, _ target: String, body: [UInt8]?
    ) throws -> [(name: String, value: String)] {
      var head = try RequestHead(
        method: method, scheme: .https, authority: Site.host, target: target)
      try secret.keys.withRequestKey { key in
        try StandardForm().sign(
          &head, body: body.map { ContentDigest(Digest(hashing: $0)) }, with: key, keyID: handle,
          created: site.clock.now, nonce: VerdictDesk.reference())
      }
      return head.fields.fields.map { ($0.name, $0.value) } + [("Proof-Token", token)]
    }

    func answer(
      _ method: String, _ target: String, _ fields: [(name: String, value: String)] = [],
      host: String = Site.host
    ) -> ForwardAnswer {
      gate.answer(
        ForwardStyle.original.told(method: method, target: target, host: host) + fields,
        from: Site.address, at: UInt64(site.clock.now))
    }

    /// The answer to a request that the app proves, and the verdict as its API reads it.
    func ask(
      _ method: String, _ target: String, body: [UInt8]? = nil
    ) throws -> (answer: ForwardAnswer, verdict: GateVerdict?) {
      let answer = answer(method, target, try proven(method, target, body: body))
      return (answer, try verdict(answer, method, target, body: body ?? []))
    }

    func verdict(
      _ answer: ForwardAnswer, _ method: String, _ target: String, body: [UInt8] = []
    ) throws -> GateVerdict? {
      guard let text = answer.fields.first(where: { $0.name == "Proof-Verdict" })?.value else {
        return nil
      }
      return try GateVerdictReader(for: Site.host, keys: site.own.verdictKeys(for: Site.host))
        .check(
          text, method: method, target: target, body: Digest(hashing: body),
          now: UInt64(site.clock.now))
    }
  }
}
