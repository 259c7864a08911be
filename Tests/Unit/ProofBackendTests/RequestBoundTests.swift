// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend

/// Bounds of times at a gate, from both sides, and the parts of an answer.
@Suite struct RequestBoundTests {
  static let route = RequestRoute(Gate.host)

  @Test("A verifier has the settings of the page, and takes no other gate's keys")
  func settings() throws {
    let settings = RequestVerifier.Settings()
    #expect(settings.skew == 30 && settings.capacity == 100_000)
    let route = RequestRoute("a.example")
    #expect(route.scheme == .https && route.forms == [.standard, .compact])
    #expect(route.window == 60 && route.measuredMax == 255 && !route.needsInstallationKey)
    #expect(route.unanchored == .passesForSafeMethods)
    #expect(route.fields.compact == "proof" && route.fields.token == "proof-token")
    #expect(route.fields.digest == nil)
    let (gate, other) = (try Gate(), try Gate())
    #expect(
      throws: ProofError.outOfRange(
        field: "gate of the own keys", value: "\(other.id)", allowed: "\(gate.id)")
    ) {
      try RequestVerifier(gate.identity, own: other.ownKeys(), replay: FailingReplayStore())
    }
  }

  @Test("A proof counts up to the window before and after its moment", arguments: [60, 10])
  func window(_ window: Int64) throws {
    var route = Self.route
    route.window = UInt32(window)
    for (offset, standard, compact) in [
      (-window - 1, .request(.stale), .gate(.stale)), (-window, nil, nil),
      (window, nil, nil), (window + 1, .request(.ahead), .gate(.ahead)),
    ] as [(Int64, RejectedRequest?, RejectedRequest?)] {
      let gate = try Gate()
      let app = try GateApp(at: gate)
      let verifier = try gate.verifier()
      let created = Gate.start + offset
      let one = verifier.judge(try app.standard(created: created), on: route)
      #expect(one.rejection == standard, "\(offset)")
      if standard == nil { #expect(one.verdict?.created == created) }
      let other = verifier.judge(try app.compact(created: created), on: route)
      #expect(other.rejection == compact, "\(offset)")
      if compact == nil { #expect(other.verdict?.created == created) }
    }
  }

  @Test("A used proof is kept for two windows and the skew after its last moment")
  func expiry() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let store = FailingReplayStore()
    var settings = RequestVerifier.Settings()
    settings.skew = 7
    let verifier = try gate.verifier(store, settings: settings)
    for (created, isStandard, last) in [
      (Gate.start + 50, true, Gate.start + 50), (Gate.start - 50, true, Gate.start),
      (Gate.start + 50, false, Gate.start + 50), (Gate.start - 50, false, Gate.start - 50),
    ] {
      let request =
        isStandard
        ? try app.standard(created: created)
        : try app.compact(count: created > Gate.start ? 1 : 2, created: created)
      #expect(verifier.judge(request, on: Self.route).verdict != nil)
      #expect(store.lastExpiry == last + 127, "\(created) \(isStandard)")
    }
  }

  @Test("The gate's word vouches for 60 seconds, whatever the app's clock says")
  func word() throws {
    for (seconds, isAnchored) in [(0, true), (60, true), (61, false)] as [(Int64, Bool)] {
      let gate = try Gate()
      let app = try GateApp(at: gate)
      let verifier = try gate.verifier()
      let word = verifier.nonce
      gate.clock.now = Gate.start + seconds
      let request = try app.standard(created: Gate.start - 5_000, nonce: "\(word).x")
      let judged = verifier.judge(request, on: Self.route)
      #expect(judged.rejection == (isAnchored ? nil : .request(.stale)), "\(seconds)")
      #expect(judged.verdict?.created == (isAnchored ? Gate.start : nil))
      #expect(judged.verdict?.isAnchored == (isAnchored ? true : nil))
      // With a right clock the app needs no word.
      let right = verifier.judge(try app.standard(nonce: "\(word).y"), on: Self.route)
      #expect(right.verdict?.isAnchored == isAnchored)
    }
  }

  @Test("A token counts up to the last second of its life, opened before or now, or as a grant")
  func life() throws {
    for (seconds, isGood) in [(3_600, true), (3_601, false)] as [(Int64, Bool)] {
      let gate = try Gate()
      let app = try GateApp(at: gate)
      let (knowing, other) = (try gate.verifier(), try gate.verifier())
      #expect(knowing.judge(try app.standard(), on: Self.route).verdict != nil)
      gate.clock.now = Gate.start + seconds
      let expected: RejectedRequest? = isGood ? nil : .gate(.tokenExpired)
      for verifier in [knowing, other] {
        #expect(verifier.judge(try app.standard(), on: Self.route).rejection == expected)
      }
      let third = try gate.verifier()
      if isGood {
        #expect(try third.admit(app.grant) == app.keys.handle)
      } else {
        #expect(throws: RejectedRequest.gate(.tokenExpired)) { try third.admit(app.grant) }
      }
      #expect(third.admissionCount == (isGood ? 1 : 0))
    }
  }

  @Test("A list of revocations replaces the one before, for each instance up to its generation")
  func revocations() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate, generation: 5)
    let verifier = try gate.verifier()
    for (list, isRevoked) in [
      ([app.instance: 4], false), ([app.instance: 5], true), ([app.instance: 6], true),
      ([InstanceID.random(): 9], false), ([app.instance: .max], true), ([:], false),
    ] as [([InstanceID: UInt32], Bool)] {
      verifier.revoke(list)
      for withToken in [true, false] where withToken || verifier.admissionCount > 0 {
        let judged = verifier.judge(try app.standard(withToken: withToken), on: Self.route)
        #expect(judged.rejection == (isRevoked ? .gate(.tokenRevoked) : nil))
      }
    }
  }

  @Test("An installation that is forgotten shows its token again")
  func forget() throws {
    let gate = try Gate()
    let (app, other) = (try GateApp(at: gate), try GateApp(at: gate))
    let verifier = try gate.verifier()
    for app in [app, other] {
      #expect(verifier.keys(of: app.keys.handle) == nil)
      #expect(verifier.judge(try app.standard(), on: Self.route).verdict != nil)
      #expect(verifier.keys(of: app.keys.handle)?.handle == app.keys.handle)
    }
    verifier.forget(app.keys.handle)
    #expect(verifier.admissionCount == 1 && verifier.keys(of: app.keys.handle) == nil)
    let judged = verifier.judge(try app.standard(withToken: false), on: Self.route)
    #expect(judged.rejection == .request(.unknownKey))
    #expect(verifier.judge(try other.standard(withToken: false), on: Self.route).verdict != nil)
  }

  @Test("An unanchored compact proof counts as the route says, by the method's safety")
  func unanchored() throws {
    for (rule, get, post) in [
      (.passes, true, true), (.passesForSafeMethods, true, false), (.refused, false, false),
    ] as [(Unanchored, Bool, Bool)] {
      let gate = try Gate()
      let app = try GateApp(at: gate)
      let verifier = try gate.verifier()
      var route = Self.route
      route.unanchored = rule
      for (count, method, passes) in [(1, "GET", get), (2, "HEAD", get), (3, "POST", post)]
        as [(UInt32, String, Bool)]
      {
        let request = try app.compact(method, count: count, anchored: false)
        let judged = verifier.judge(request, on: route)
        #expect(judged.rejection == (passes ? nil : .gate(.unanchored)), "\(rule) \(method)")
        #expect(judged.verdict?.isAnchored == (passes ? false : nil))
      }
      let anchored = verifier.judge(try app.compact(count: 4), on: route)
      #expect(anchored.verdict?.isAnchored == true)
    }
  }

  @Test("A compact proof of a measurement at the route's bound counts, and an older one does not")
  func measured() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    var route = Self.route
    for (most, isGood) in [(2, false), (3, true), (4, true)] as [(UInt8, Bool)] {
      route.measuredMax = most
      let judged = try gate.verifier().judge(try app.compact(), on: route)
      #expect(judged.rejection == (isGood ? nil : .gate(.measured)), "\(most)")
    }
  }

  @Test("Scheme and authority are the route's, also where a gate has read the head before")
  func heads() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    for (scheme, authority) in [
      (RequestHead.Scheme.https, Gate.host), (.http, Gate.host), (.https, "evil.example.com"),
    ] {
      var request = try app.standard()
      request.head = try RequestHead(
        method: request.method, scheme: scheme, authority: authority, target: request.target,
        fields: request.fields)
      #expect(verifier.judge(request, on: Self.route).verdict != nil, "\(scheme) \(authority)")
      let evil = try app.standard(host: "evil.example.com")
      request = evil
      request.head = try RequestHead(
        method: evil.method, scheme: .https, authority: authority, target: evil.target,
        fields: evil.fields)
      #expect(verifier.judge(request, on: Self.route).rejection == .request(.wrongSignature))
    }
  }
}
