// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import Synchronization

@testable import ProofGate

/// A clock that a test sets.
final class SetClock: Sendable {
  private let seconds: Atomic<Int64>

  init(_ start: UnixTime = Site.start) { seconds = Atomic(start.seconds) }

  var now: UnixTime {
    get { UnixTime(seconds: seconds.load(ordering: .sequentiallyConsistent)) }
    set { seconds.store(newValue.seconds, ordering: .sequentiallyConsistent) }
  }

  var clock: UnixClock { UnixClock { self.now } }
}

/// A replay store that several nodes share, and that a test switches off.
final class SharedStore: RedemptionStore {
  private let store = MemoryReplayStore()
  private let fails = Atomic(false)
  private let memory: ReplayMemory
  let inserted = Atomic(0)

  init(isComplete: Bool = true, highest: UnixTime = 0) {
    memory = ReplayMemory(highest: highest, gap: isComplete ? nil : highest)
  }

  var isFailing: Bool {
    get { fails.load(ordering: .sequentiallyConsistent) }
    set { fails.store(newValue, ordering: .sequentiallyConsistent) }
  }

  var count: Int { inserted.load(ordering: .sequentiallyConsistent) }

  func begin(at now: UnixTime) -> ReplayMemory { memory }

  func insert(
    _ key: ReplayKey, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> Bool {
    if isFailing { throw .unavailable(place: "test", reason: "switched off") }
    inserted.add(1, ordering: .sequentiallyConsistent)
    return try store.insert(key, until: expiry, at: now)
  }

  func judgement(under name: ReplayKey) -> [UInt8]? { store.judgement(under: name) }

  func record(
    _ record: ReplayRecord, using key: ReplayKey?, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> ReplayRecording {
    try store.record(record, using: key, until: expiry, at: now)
  }

  func redeem(
    _ redemption: Redemption, at now: UnixTime, _ judged: (EventCounts) -> [UInt8]
  ) throws(ReplayStoreFailure) -> RedemptionEnd {
    if isFailing { throw .unavailable(place: "test", reason: "switched off") }
    let end = try store.redeem(redemption, at: now, judged)
    if case .redeemed = end { inserted.add(1, ordering: .sequentiallyConsistent) }
    return end
  }

  func forget(account: ReplayKey) -> Int { store.forget(account: account) }
}

/// One gate: its own keys, its nodes, and an app.
struct Site {
  static let start: UnixTime = 1_800_000_000
  static let host = "api.example.com"
  static let address = "192.0.2.1"

  let id: GateID
  let own: GateOwnKeys
  let clock = SetClock()
  let app: GateKeys

  init(id: GateID = .random(), secret: UInt8 = 0x5a) throws {
    self.id = id
    own = try Self.own(id, [(1, secret)])
    app = try GateSecret.random(generation: 1).keys
  }

  static func own(
    _ id: GateID, _ secrets: [(number: UInt8, byte: UInt8)], active: UInt8? = nil
  ) throws -> GateOwnKeys {
    try GateOwnKeys(
      of: id,
      secrets.map {
        try GateOwnSecret(
          SecretBytes(copying: [UInt8](repeating: $0.byte, count: 32).span), number: $0.number)
      }, active: active)
  }

  func challenges(
    _ replay: any ReplayStore = SharedStore(), own: GateOwnKeys? = nil
  ) throws -> ChallengeDesk {
    var settings = ChallengeDesk.Settings()
    settings.clock = clock.clock
    return try ChallengeDesk(own ?? self.own, replay: replay, settings: settings)
  }

  func clearances(
    _ replay: any ReplayStore = SharedStore(), own: GateOwnKeys? = nil
  ) throws -> ClearanceDesk {
    var settings = ClearanceDesk.Settings()
    settings.clock = clock.clock
    return try ClearanceDesk(own ?? self.own, replay: replay, settings: settings)
  }

  /// A request of the app, or of a client at an address.
  func subject(
    _ method: String = "POST", _ target: String = "/pay?to=7", host: String = host,
    body: Digest? = nil, from client: ChallengeClient? = nil
  ) throws -> ChallengeSubject {
    try ChallengeSubject(
      ChallengePlace(method: method, authority: host, target: target), body: body,
      from: client ?? .address(Self.address))
  }

  /// The right proof of a challenge.
  func proof(_ challenge: GateChallenge, _ subject: ChallengeSubject) throws -> ChallengeAnswer {
    let proof = try app.challengeProof(
      answering: challenge.bytes, at: id, for: subject.place)
    return .proof(proof, app)
  }
}

/// The text with one bit of its bytes changed.
func flipped(_ text: String, bit: Int) -> String {
  guard var bytes = Base64.decode(text, .url) else { return text }
  bytes[bit / 8] ^= 1 << UInt8(bit % 8)
  return Base64.encode(bytes, .url)
}

/// Solves a challenge of kind work.
func solve(_ text: String) throws -> (solution: String, hashes: UInt64) {
  var solver = try WorkSolver(text, puzzleLevelMax: 24, pairingLevelMax: 7)
  while true {
    if let solution = solver.step() { return (solution, solver.hashes) }
  }
}
