// SPDX-License-Identifier: Apache-2.0

import BenchInstruments
import ProofBench
import ProofModel
import ProofRequest

/// A request proof of the standard form: signed and verified, beside OpenSSL's HMAC over the bytes that are covered.
func requestGroup(_ sample: Sample) throws -> Group {
  let request = try RequestSample(sample)
  let peer = try HMACPeer(byteCount: request.coveredByteCount)
  return Group(
    name: "request",
    candidates: [
      .whole("sign.standard", count: 100) { count in
        for _ in 0..<count { _ = try request.sign() }
      },
      .whole("verify.standard", count: 100) { count in
        for _ in 0..<count { try request.verify() }
      },
      .whole("sign.compact", count: 100) { count in
        for _ in 0..<count { _ = try request.compact() }
      },
      .whole("verify.compact", count: 100) { count in
        for _ in 0..<count { try request.verifyCompact() }
      },
      .whole("hmac.openssl", count: 100) { count in for _ in 0..<count { try peer.make() } },
    ],
    ratios: [
      ("sign.standard", "hmac.openssl"), ("verify.standard", "hmac.openssl"),
      ("sign.compact", "hmac.openssl"), ("verify.compact", "hmac.openssl"),
    ])
}

/// An event token: made, checked and judged, beside OpenSSL's HMAC over as many bytes.
func eventGroup(_ sample: Sample) throws -> Group {
  let event = try EventSample(sample)
  let desk = try RedeemDesk(sample)
  let peer = try HMACPeer(byteCount: EventSample.taggedByteCount)
  return Group(
    name: "event",
    candidates: [
      .whole("make", count: 100) { count in for _ in 0..<count { _ = try event.make() } },
      .whole("verify", count: 100) { count in for _ in 0..<count { try event.verify() } },
      desk.candidate("redeem"),
      .whole("hmac.openssl", count: 100) { count in for _ in 0..<count { try peer.make() } },
    ],
    ratios: [
      ("make", "hmac.openssl"), ("verify", "hmac.openssl"), ("redeem", "hmac.openssl"),
    ])
}

/// OpenSSL's HMAC with its key kept.
@safe
final class HMACPeer {
  private let kept: OpaquePointer
  private let message: [UInt8]
  private var tag = [UInt8](repeating: 0, count: 32)

  init(byteCount: Int) throws {
    let key = [UInt8](repeating: 9, count: 32)
    guard let kept = unsafe bench_hmac_new(key, key.count) else {
      throw PeerError("libcrypto makes no HMAC")
    }
    unsafe self.kept = unsafe kept
    message = [UInt8](repeating: 7, count: byteCount)
  }

  deinit { unsafe bench_hmac_free(kept) }

  func make() throws {
    guard unsafe bench_hmac_make(kept, &tag, message, message.count) == 1 else {
      throw PeerError("libcrypto makes no HMAC")
    }
  }
}

/// A payment of an app with the keys of one gate. The digest of its body is made beforehand.
struct RequestSample {
  static let now: UnixTime = 1_800_000_000
  private let keys: GateKeys
  private let compactKeys: CompactKeys
  private let keyID: String
  private let head: RequestHead
  private let body: ContentDigest
  private let subject: CompactSubject
  private let signed: RequestHead
  private let text: String
  private let beacons: ValidBeacons

  init(_ sample: Sample) throws {
    let secret = try GateSecret(
      of: sample.measurement, for: .random(), instance: sample.instance, generation: 1,
      with: sample.key)
    keys = secret.keys
    compactKeys = keys.compact
    keyID = keys.handle.withBytes { Base64.encode($0, .url) }
    head = try RequestHead(
      method: "POST", url: "https://api.example.com/v1/payments?to=7",
      fields: HeaderFields([
        ("Content-Type", "application/json"), ("Authorization", "Bearer 0123456789abcdef"),
        ("Accept", "*/*"), ("User-Agent", "app/1.0"),
      ]))
    let digest = Digest(hashing: Array(#"{"cents":1200}"#.utf8))
    body = ContentDigest(digest)
    subject = .request(
      try RequestDigest(
        method: "POST", scheme: "https", authority: "api.example.com",
        target: "/v1/payments?to=7", body: digest, authorization: "Bearer 0123456789abcdef"))
    beacons = try BeaconKey(from: .random(count: 32), number: 1, of: .random()).valid(
      at: Self.now)
    signed = try Self.signed(head, body, keys, keyID)
    text = try CompactDraft(created: Self.now, start: 1, count: 1, measured: 0)
      .text(for: subject, with: compactKeys)
  }

  /// How many bytes the signature covers.
  var coveredByteCount: Int { 480 }

  func sign() throws -> RequestHead { try Self.signed(head, body, keys, keyID) }

  private static func signed(
    _ head: RequestHead, _ body: ContentDigest, _ keys: GateKeys, _ keyID: String
  ) throws -> RequestHead {
    var head = head
    try keys.withRequestKey { key in
      try StandardForm().sign(
        &head, body: body, with: key, keyID: keyID, created: now, nonce: "3q2-7wAAAAAAAAAA")
    }
    return head
  }

  /// The HMAC of a signature alone, over as many bytes as one covers.
  func hash() {
    let bytes = [UInt8](repeating: 7, count: coveredByteCount)
    keys.withRequestKey { _ = CoreCrypto.hmac(key: $0, bytes.span) }
  }

  func verify() throws {
    let proof = try StandardProof(reading: signed)
    guard keys.withRequestKey({ proof.isSigned(with: $0) }) else {
      throw PeerError("the request is refused")
    }
  }

  func compact() throws -> String {
    try CompactDraft(created: Self.now, start: 1, count: 1, measured: 0)
      .text(for: subject, with: compactKeys)
  }

  func verifyCompact() throws {
    try CompactToken(checking: text, for: subject, with: compactKeys)
      .judge(by: CompactToken.Rules(now: Self.now))
  }
}

/// An event of an app with the keys of one audience.
struct EventSample {
  /// Label, head, plain part, account and digest.
  static let taggedByteCount = 16 + 18 + 24 + 32 + 32
  private let keys: CompactKeys
  private let subject: CompactSubject
  private let text: String
  private let beacons: ValidBeacons
  private let draft: CompactDraft

  init(_ sample: Sample) throws {
    let secret = try GateSecret(
      of: sample.measurement, for: .random(), instance: sample.instance, generation: 1,
      with: sample.key)
    keys = secret.eventKeys(for: .random())
    let beaconKey = try BeaconKey(from: .random(count: 32), number: 1, of: .random())
    beacons = beaconKey.valid(at: RequestSample.now)
    subject = .event(
      data: Digest(hashing: Array("order 17".utf8)),
      account: try GateAccountKey(.random(count: 32), number: 1).digest(of: "user-4711"))
    draft = CompactDraft(
      created: RequestSample.now, start: 1, count: 1, measured: 0, event: 3300,
      accountKey: 1, beacon: try Beacon(header: beaconKey.header(at: RequestSample.now)))
    text = try draft.text(for: subject, with: keys)
  }

  func make() throws -> String { try draft.text(for: subject, with: keys) }

  func verify() throws {
    try CompactToken(checking: text, for: subject, with: keys)
      .judge(
        by: CompactToken.Rules(now: RequestSample.now, event: 3300, beacons: beacons))
  }
}
