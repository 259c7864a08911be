// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Each text that a gate's own keys authenticate is refused in the place of each other kind: under its own key, and
/// also if a defect gave all uses one key.
@Suite struct ConfusionTests {
  /// The kinds of texts.
  private enum Kind: CaseIterable {
    case word, token, proof, work, memoryWork, person, clearance, ticket, verdict
  }

  private struct World {
    let site: Site
    let keys: [Kind: GateKeySet]
    let subject: ChallengeSubject

    init(sameKey: Bool) throws {
      site = try Site()
      subject = try site.subject()
      let one = GateKeySet([
        GateKey(SecretBytes(copying: [UInt8](repeating: 7, count: 32).span), number: 1)
      ])
      var keys: [Kind: GateKeySet] = [:]
      for kind in Kind.allCases {
        keys[kind] =
          switch kind {
          case .word: sameKey ? one : site.own[.nonce]
          case .clearance: sameKey ? one : site.own[.clearance]
          case .ticket: sameKey ? one : site.own[.ticket]
          case .verdict: sameKey ? one : site.own.verdictKeySet(for: Site.host)
          default: sameKey ? one : site.own[.challenge]
          }
      }
      self.keys = keys
    }

    func challenges() throws -> ChallengeDesk {
      var settings = ChallengeDesk.Settings()
      settings.clock = site.clock.clock
      return try ChallengeDesk(keys[.person]!, site.id, replay: SharedStore(), settings: settings)
    }

    func clearances() throws -> ClearanceDesk {
      var settings = ClearanceDesk.Settings()
      settings.clock = site.clock.clock
      return try ClearanceDesk(keys[.clearance]!, replay: SharedStore(), settings: settings)
    }

    func text(_ kind: Kind) throws -> [UInt8] {
      let challenges = try challenges()
      func bytes(_ text: String) -> [UInt8] { Base64.decode(text, .url) ?? [] }
      switch kind {
      case .word: return bytes(GateNonce(keys[.word]!).text(at: Site.start))
      case .token: return challenges.set(.token, for: subject).bytes
      case .proof: return challenges.set(.proof, for: subject).bytes
      case .work: return challenges.set(.work, for: subject).bytes
      case .memoryWork: return challenges.set(.memoryWork, for: subject).bytes
      case .person: return challenges.set(.person, for: subject).bytes
      case .clearance:
        let challenge = challenges.set(.person, for: subject)
        return bytes(try clearances().clearance(for: challenge, subject).text)
      case .ticket:
        let grant = GateGrant(
          for: site.id, instance: .random(), mode: .production, issued: Site.start,
          notAfter: Site.start + 60, firstSeen: 1, secret: try .random(generation: 1))
        return bytes(TicketDesk(keys[.ticket]!, site.id).ticket(for: grant))
      case .verdict:
        let verdict = GateVerdict(reference: "", moment: Site.start, rule: "", passes: true)
        let text = verdict.text(for: try request(), with: keys[.verdict]!.active)
        return text.split(separator: ".").flatMap { bytes(String($0)) }
      }
    }

    func request() throws -> RequestDigest {
      try RequestDigest(
        method: "POST", scheme: "https", authority: Site.host, target: "/", body: .zero)
    }

    /// Whether a reader of a kind takes bytes.
    func takes(_ bytes: [UInt8], as kind: Kind) throws -> Bool {
      let text = Base64.encode(bytes, .url)
      switch kind {
      case .word: return GateNonce(keys[.word]!).read(Substring(text)) != nil
      case .token, .proof, .work, .memoryWork, .person:
        guard let challenge = try? challenges().read(text, for: subject) else { return false }
        let kinds: [Kind: ChallengeKind] = [
          .token: .token, .proof: .proof, .work: .work, .memoryWork: .memoryWork, .person: .person,
        ]
        return challenge.kind == kinds[kind]
      case .clearance:
        let field = ClearanceField(text, in: .cookie)
        let desk = try clearances()
        return (try? desk.check(field, for: Site.host, proven: nil, from: Site.address)) != nil
      case .ticket:
        let desk = TicketDesk(keys[.ticket]!, site.id)
        return (try? desk.open(text, mode: .production, at: Site.start)) != nil
      case .verdict:
        guard bytes.count > 32 else { return false }
        let parts = [Array(bytes.dropLast(32)), Array(bytes.suffix(32))]
        let reader = GateVerdictReader(
          for: Site.host, keys: [GateVerdictKey(keys[.verdict]!.active)])
        let verdict = parts.map { Base64.encode($0, .url) }.joined(separator: ".")
        let read = try? reader.check(
          verdict, method: "POST", target: "/", body: .zero, now: Site.start)
        return read != nil
      }
    }
  }

  @Test("The same text under the same key has another tag for each use")
  func labels() {
    let key = GateKey(SecretBytes(copying: [UInt8](repeating: 7, count: 32).span), number: 1)
    let labels = [
      GateNonce.label, GateChallenge.label, GateChallenge.bindingLabel, Clearance.label,
      GateVerdict.label, TicketDesk.label,
    ]
    #expect(Set(labels.map(\.description)).count == labels.count)
    #expect(Set(labels.map { key.tag($0, [1, 2, 3]) }).count == labels.count)
  }

  /// A text as it is, cut, with the head of another kind, with its length too, and another kind's with its tag.
  private static func disguised(_ bytes: [UInt8], as other: [UInt8]) -> [[UInt8]] {
    let headed: [UInt8] = Array(other.prefix(4)) + Array(bytes.dropFirst(4))
    let padded: [UInt8] = headed + [UInt8](repeating: 0, count: other.count)
    let tagged: [UInt8] = Array(other.dropLast(16)) + Array(bytes.suffix(16))
    let numbered: [UInt8] = [other[0]] + Array(bytes.dropFirst())
    return [
      bytes, Array(bytes.prefix(other.count)), numbered, headed, Array(padded.prefix(other.count)),
      tagged,
    ]
  }

  @Test(
    "No ordered pair of kinds is confused, with the head of the other kind or without",
    arguments: [false, true])
  func pairs(sameKey: Bool) throws {
    let world = try World(sameKey: sameKey)
    var pairs = 0
    for made in Kind.allCases {
      let bytes = try world.text(made)
      #expect(try world.takes(bytes, as: made), "\(made) is not itself")
      for read in Kind.allCases where read != made {
        let other = try world.text(read)
        for offered in Self.disguised(bytes, as: other) where offered != other {
          #expect(try !world.takes(offered, as: read), "\(made) as \(read)")
        }
        pairs += 1
      }
    }
    #expect(pairs == Kind.allCases.count * (Kind.allCases.count - 1))
  }
}
