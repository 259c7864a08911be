// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import ProofRequest
import SeededRandom
import Testing

@testable import ProofBackend

/// The parsers of gates and redeemers under inputs that are almost right. That nothing traps is what the process's
/// life shows.
@Suite("Gates, mutated")
struct GateFuzzTests {
  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test("a word on the time is this gate's, letter by letter, or none")
  func nonces() throws {
    var mutator = Mutator("gate nonce")
    func nonce(_ number: UInt8) throws -> GateNonce {
      let secret = try GateOwnSecret(
        SecretBytes(copying: [UInt8](repeating: 7, count: 32).span), number: number)
      return try GateNonce(GateOwnKeys(of: Self.gateID, [secret])[.nonce])
    }
    let (own, restarted, other) = try (nonce(1), nonce(1), nonce(2))
    let start = Gate.start
    let good = [own.text(at: start), own.text(at: start + 9), own.text(at: .last)]
    let inputs = (good + [restarted.text(at: start), other.text(at: start), ""]).map {
      Array($0.utf8)
    }
    for _ in 0..<10 * Mutator.rounds {
      let text = Self.text(mutator.mutant(of: inputs))
      let read = own.read(text[...])
      #expect((read != nil) == (text == Self.text(inputs[3]) || good.contains(text)))
      #expect(read?.isOfThisStart != true || good.contains(text))
    }
    #expect(own.read(good[1][...])?.time == start + 9)
  }

  private static let gateID = GateID.random()

  @Test("a kept judgement is read whole or not at all, and read again as the same")
  func keptJudgements() throws {
    var mutator = Mutator("kept judgement")
    let question = [UInt8](repeating: 9, count: 32)
    let reasons: [EventJudgement.Reason?] = [
      nil, .refused(.replayed), .beforeStart, .unknownAccountKey, .otherQuestion, .store,
    ]
    let inputs = reasons.map { reason in
      KeptJudgement(
        question,
        EventJudgement(
          reason: reason, facts: nil, created: 1_800_000_000, age: -3, measured: 4, isYoung: true,
          isAnchored: true, isRepeated: false)
      ).bytes
    }
    var taken = 0
    for _ in 0..<10 * Mutator.rounds {
      let bytes = mutator.mutant(of: inputs)
      guard let kept = KeptJudgement(bytes) else { continue }
      #expect(bytes.count >= KeptJudgement.headByteCount)
      #expect(KeptJudgement(kept.bytes) == kept)
      let judgement = kept.judgement(nil)
      #expect(judgement.isRepeated && judgement.isValid == (kept.reason == 0))
      taken += 1
    }
    #expect(taken > 0, "some mutants are read, or nothing was tried")
  }

  @Test("a changed event token never counts, and the token itself counts afterwards")
  func eventTokens() throws {
    var mutator = Mutator("event token")
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let audience = AudienceID.random()
    let redeemer = try gate.redeemer(audience)
    redeemer.admit(app.grant)
    let inputs = try [
      app.event(for: audience), app.event(for: .random(), count: 2),
      app.event(for: audience, count: 3, isInErrorState: true), app.compact().fields.first("proof"),
    ].map { Array(($0 ?? "").utf8) }
    for round in 0..<4 * Mutator.rounds {
      let bytes = mutator.mutant(of: inputs)
      guard bytes != inputs[0] else { continue }
      let key = round % 3 == 0 ? Self.text(mutator.mutant(of: inputs)) : nil
      let judgement = redeemer.judge(
        .init(
          Self.text(bytes), event: 3300, account: "user-4711", data: Array("order 17".utf8),
          idempotencyKey: key))
      #expect(!judgement.isValid && !"\(judgement.reason.map { "\($0)" } ?? "")".isEmpty)
    }
    let judgement = redeemer.judge(
      .init(
        Self.text(inputs[0]), event: 3300, account: "user-4711", data: Array("order 17".utf8)))
    #expect(judgement.isValid)
  }

  @Test("a changed gate token opens nothing, and costs the app that it names nothing")
  func gateTokens() throws {
    var mutator = Mutator("gate token")
    let gate = try Gate()
    let (app, other) = (try GateApp(at: gate), try GateApp(at: try Gate()))
    var settings = RequestVerifier.Settings()
    settings.openings.perAddress = .init(burst: 1_000_000, perSecond: 1_000_000)
    settings.openings.strangers = settings.openings.perAddress
    let verifier = try gate.verifier(settings: settings)
    let inputs = [app.grantBytes, other.grantBytes, Array(app.grantBytes.dropLast())]
    for round in 0..<Mutator.rounds {
      let bytes = mutator.mutant(of: inputs)
      guard bytes != inputs[0] else { continue }
      // Half of the mutants have a good head, so that more of them reach the opening.
      let sealed = round % 2 == 0 ? bytes : Array(inputs[0][..<40]) + Array(bytes.dropFirst(40))
      guard sealed != inputs[0] else { continue }
      var request = try app.standard(withToken: false)
      let text = round % 5 == 0 ? Self.text(bytes) : Base64.encode(sealed, .url)
      guard (try? request.fields.append("Proof-Token", text)) != nil else { continue }
      let judgement = verifier.judge(request, on: RequestRoute(Gate.host))
      #expect(judgement.verdict == nil && verifier.admissionCount == 0)
      #expect(judgement.rejection?.status != 500)
    }
    let honest = verifier.judge(try app.standard(), on: RequestRoute(Gate.host))
    #expect(honest.verdict != nil && verifier.admissionCount == 1)
  }

  @Test("a configuration under the account's key is refused, or keeps its rules")
  func configurations() throws {
    var mutator = Mutator("gate configuration")
    let desk = try ConfigurationDesk()
    let names = desk.claims.map(\.name)
    var taken = 0
    for round in 0..<2 * Mutator.rounds {
      let name = mutator.pick(names)
      let value =
        round == 0 ? nil : mutator.mutant(of: desk.claims.map { Array($0.value.utf8) })
      let text = try desk.signed(value.map { [name: Self.text($0)] } ?? [:])
      let read: GateConfiguration
      do throws(GateConfigurationError) {
        read = try GateConfiguration(text, signedBy: desk.fingerprint)
      } catch {
        #expect(!error.description.isEmpty)
        continue
      }
      #expect(read.serial >= 0 && read.made > 0 && read.useSeconds >= 0)
      #expect(read.accountKeys.allSatisfy { $0.number > 0 })
      #expect(read.revocations.values.allSatisfy { $0 > 0 })
      #expect(read.events.allSatisfy { 1...86_400 ~= $0.life })
      #expect(read.challenges.allSatisfy { $0.kind.levels ~= Int64($0.level) && $0.life > 0 })
      for host in read.hosts { #expect(read.route(for: host)?.authority == host) }
      _ = try? read.identity([GateSecretKey(.random(count: 32))])
      taken += 1
    }
    #expect(taken > 0, "some mutants are taken, or nothing was tried")
  }

  @Test("no changed configuration is taken under the old signature")
  func signatures() throws {
    var mutator = Mutator("gate configuration signature")
    let (desk, stranger) = (try ConfigurationDesk(), try ConfigurationDesk())
    let inputs = try [desk.signed(), desk.signed(["ser": "9"]), stranger.signed()].map {
      Array($0.utf8)
    }
    for _ in 0..<2 * Mutator.rounds {
      let mutant = mutator.mutant(of: inputs)
      let read = try? GateConfiguration(Self.text(mutant), signedBy: desk.fingerprint)
      #expect((read != nil) == inputs[..<2].contains(mutant))
    }
  }
}

/// Signs configurations of one account, with claims that a test chooses.
struct ConfigurationDesk {
  let claims: [(name: String, value: String)]
  let fingerprint: Digest
  let publicKey: [UInt8]
  private let signer: JWSSigner

  init() throws {
    let key = try JSONWebKey.random(.edDSA)
    let publicKey = try #require(key.publicBytes)
    signer = try JWSSigner(key)
    self.publicKey = publicKey
    fingerprint = Digest(hashing: Array("pfa1.config-key.".utf8) + publicKey)
    func encoded(_ bytes: [UInt8]) -> String { "\"\(Base64.encode(bytes, .url))\"" }
    let gateKey = try GateIdentity.Key(.random(count: 32), number: 1).publicKey.bytes
    let issuer = IssuerKey.random().publicKey.bytes
    let sixteen = [UInt8](1...16)
    claims = [
      ("acc", #""demo""#), ("nam", #""web""#), ("gat", encoded(sixteen)), ("ser", "7"),
      ("iat", "1900000000"), ("use", "604800"), ("mod", #""production""#), ("flr", "0"),
      ("frm", #""compact""#), ("hdr", #"{"proof":"proof","token":"proof-token"}"#),
      ("hst", #"["api.example.com","pay.example.com:8443"]"#),
      ("xks", #"[{"num":1,"sta":"active","key":\#(encoded(gateKey))}]"#),
      ("aks", #"[{"num":1,"sta":"active","key":\#(encoded([UInt8](1...32)))}]"#),
      ("iss", #"[{"id":"i","sta":"active","key":\#(encoded(issuer))}]"#),
      ("rev", #"[{"ins":\#(encoded(sixteen)),"gen":3}]"#),
      (
        "evt",
        #"[{"first":3300,"last":3400,"audience":"shop","aud":\#(encoded(sixteen)),"life":60,"#
          + #""account":true,"data":false,"unanchored":false,"measured":255}]"#
      ),
      ("key", encoded(publicKey)), ("watch", "true"),
      (
        "challenges",
        #"[{"name":"login","kind":"work","level":16,"life":120},"#
          + #"{"name":"late","kind":"person","level":0,"life":600}]"#
      ),
    ]
  }

  /// The text with some claims replaced, added or left out.
  func signed(
    _ changes: [String: String] = [:], without left: [String] = [], type: String = "gate+jwt"
  ) throws -> String {
    let added = changes.filter { change in !claims.contains { $0.name == change.key } }
    let members =
      claims.filter { !left.contains($0.name) }.map {
        "\"\($0.name)\":\(changes[$0.name] ?? $0.value)"
      } + added.map { "\"\($0.key)\":\($0.value)" }
    let payload = Array("{\(members.joined(separator: ","))}".utf8)
    return try signer.sign(payload: payload.span, type: type)
  }

  /// The handover of the account from this key to another one's.
  func handover(
    to next: ConfigurationDesk, account: String = "demo", type: String = "handover+jwt",
    signedBy other: ConfigurationDesk? = nil
  ) throws -> String {
    let (old, new) = (Base64.encode(publicKey, .url), Base64.encode(next.publicKey, .url))
    let payload = Array(#"{"acc":"\#(account)","key":"\#(old)","nxt":"\#(new)"}"#.utf8)
    return try (other ?? self).signer.sign(payload: payload.span, type: type)
  }
}
