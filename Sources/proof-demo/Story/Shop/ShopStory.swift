// SPDX-License-Identifier: Apache-2.0

import Foundation
internal import ProofBytes

/// The second act: an API that judges each request and each event by itself.
final class ShopStory {
  let world: ShopWorld
  let narrator: Narrator
  var chance: SplitMix64

  var phone: Phone { world.phone }
  var shop: ShopSide { world.shop }

  init(_ world: ShopWorld, _ narrator: Narrator, seed: UInt64) {
    self.world = world
    self.narrator = narrator
    chance = SplitMix64(seed: seed)
  }

  private static let prologue = """

    A shop's API serves only requests that the shop's app proves, from the phone on which it was measured.
    The attestation service, the shop, the apps, a proxy and thieves are processes of their own, over TLS;
    what a line says of an order is what the shop's own log says.
    """

  func play() throws {
    narrator.say(Self.prologue)
    try openShop()
    try narrator.mustBeWell()
    try buy()
    try narrator.mustBeWell()
    try attackRequests()
    try attackEvents()
    try interpose()
    try modify()
    phone.stop()
    world.otherPhone.stop()
    world.service.stop()
    shop.stop()
  }

  // MARK: The beginning

  private func openShop() throws {
    narrator.begin("A shop, and an app that proves each request")
    try narrator.step("attestation service and shop start", must: "listening") {
      try world.service.start()
      try shop.begin()
      return Happening("listening", "\(world.service.url); \(shop.url), its gate's key is its own")
    }
    try narrator.step("the account lists the shop's API, pin and event", must: "listed") {
      try shop.list()
      return Happening("listed", "the shop gets it signed, and needs no service from then on")
    }
    try narrator.step(
      "the shop's app is installed on two phones and registered", must: "registered"
    ) {
      try phone.install(world.service, shop, for: world.user)
      try world.otherPhone.install(world.service, shop, for: world.otherUser)
      try world.register(phone)
      return Happening("registered", "it trusts the shop's certificate, and a proxy's")
    }
    try narrator.step("both apps are measured, and admitted to the API", must: "admitted, admitted")
    {
      let answers = [try phone.app("enrol"), try world.otherPhone.app("enrol")]
      return Happening(
        answers.map(\.outcome).joined(separator: ", "), answers[0].detail, time: answers[0].time)
    }
  }

  private func buy() throws {
    try narrator.step("the app asks for the prices", must: "served") {
      try asked("prices", at: "/prices")
    }
    try narrator.step("the attestation service is stopped; the app buys tea", must: "done") {
      world.service.stop()
      return try asked("buy tea 1", at: "/orders")
    }
    try narrator.step("it redeems a voucher, with an event token", must: "done") {
      try asked("redeem spring", at: "/vouchers")
    }
  }

  /// Has the app of a phone ask the shop. Returns the shop's verdict.
  private func asked(
    _ words: String, at path: String, on phone: Phone? = nil
  ) throws -> Happening {
    shop.turnPage()
    let answer = try (phone ?? self.phone).app(words)
    // The shop may have asked for the gate token first.
    var verdicts = [try shop.verdict(on: path)]
    while answer.isDone, verdicts.last?.hasPrefix("refused") ?? false {
      verdicts.append(try shop.verdict(on: path))
    }
    return Happening(
      verdicts.joined(separator: ", then "), "the app is told \(answer.detail)", time: answer.time)
  }

  // MARK: Attacks

  /// A thief has everything that the shop received.
  private func attackRequests() throws {
    narrator.begin("Attacks on requests, by a thief who has all that the shop received")
    let wrong = "refused: the signature does not match the request"
    try narrator.step(
      "the app buys tea, and he sends the same once more",
      must: "refused: the proof was used before"
    ) {
      _ = try phone.app("buy tea 1")
      try copyRecord()
      return try stolen("/orders")
    }
    try narrator.step(
      "he changes the body", must: "refused: the body does not have the digest that was signed"
    ) {
      try stolen("/orders", "--body", "\(Int.random(in: 2...99, using: &chance))")
    }
    try narrator.step("he changes the URL", must: wrong) {
      try stolen("/orders", "--target", "/orders?item=ring")
    }
    try narrator.step("he changes the method", must: wrong) {
      try stolen("/orders", "--method", "PUT")
    }
    try narrator.step("he signs in as another user", must: wrong) {
      try stolen("/orders", "--user", world.otherUser.secret)
    }
    try narrator.step("he takes the gate token, and signs with keys of his own", must: wrong) {
      try stolen("/prices", "--with-token", "--sign")
    }
    try narrator.step(
      "a bot without the SDK orders", must: "refused: the request has no signature of this form"
    ) {
      try attack(
        "/orders", "--method", "POST", "--target", "/orders?item=tea", "--body", "1", "--user",
        world.user.secret)
    }
  }

  private func attackEvents() throws {
    narrator.begin("Attacks on events, by the same thief")
    let other = "refused: the compact token looks made for"
    try narrator.step(
      "he redeems the voucher again", must: "refused: the compact token was used before"
    ) {
      _ = try phone.app("redeem summer")
      try copyRecord()
      return try stolen("/vouchers")
    }
    try narrator.step("he redeems it for himself", must: "\(other) another account") {
      // One account in 256 has the same hint as the user's. The shop then knows the token only as altered.
      var happening = Happening("altered")
      for user in world.thieves where happening.outcome.contains("altered") {
        happening = try stolen("/vouchers", "--user", user.secret)
      }
      return happening
    }
    try narrator.step("he redeems another voucher with it", must: "\(other) other business data") {
      try stolen("/vouchers", "--body", "winter")
    }
  }

  /// The thief's copy of all that the shop had received when he took it.
  private var stolenRecord: String { world.cast.folder + "/stolen" }

  private func copyRecord() throws {
    try PrivateFiles.write(String(contentsOfFile: shop.record, encoding: .utf8), to: stolenRecord)
  }

  /// Sends a request of the app once more, or changed.
  private func stolen(_ path: String, _ changes: String...) throws -> Happening {
    try attack(path, ["--seen", path, "--record", stolenRecord] + changes)
  }

  private func attack(_ path: String, _ options: String...) throws -> Happening {
    try attack(path, options)
  }

  private func attack(_ path: String, _ options: [String]) throws -> Happening {
    shop.turnPage()
    let output = try world.tool.run(
      world.tool.path("proof-demo"),
      ["attack", "request", "--url", shop.url, "--authority", shop.authorities[0]] + options)
    let told = String(decoding: output, as: UTF8.self).trimmingCharacters(
      in: .whitespacesAndNewlines)
    return Happening(try shop.verdict(on: path), "the thief is told: \(told)")
  }

  // MARK: Other ways

  private func interpose() throws {
    narrator.begin("A proxy that the phone trusts, and a restart")
    try narrator.step(
      "a proxy takes the shop's place; the app buys", must: "nothing sent: another key"
    ) {
      let (answer, byteCount) = try shop.behindProxy { try phone.app("buy tea 1") }
      return Happening(
        byteCount == 0 ? answer.outcome : "the proxy has read \(byteCount) bytes",
        "the account pins the shop's key, and the proxy has read nothing", time: answer.time)
    }
    try narrator.step(
      "the shop is back, as a new process; the app buys",
      must: "refused: the key id is not known, then done"
    ) {
      try asked("buy tea 1", at: "/orders")
    }
  }

  /// The app is changed, and attested anew. It cannot tell that it failed.
  private func modify() throws {
    narrator.begin("An app that is not the one that was published")
    try narrator.step("one bit of its bundle is changed; it is started", must: "admitted") {
      try world.service.start()
      phone.stop()
      try flipBit(of: phone.bundle + "/views/main")
      let answer = try phone.app("enrol")
      return Happening(answer.outcome, "as every app is: the token is sealed", time: answer.time)
    }
    try narrator.step("it asks for the prices", must: "served") {
      try asked("prices", at: "/prices")
    }
    var told: String?
    try narrator.step("it buys tea", must: "declined: the app failed its attestation") {
      shop.turnPage()
      let answer = try phone.app("buy tea 1")
      told = answer.told
      return Happening(
        try shop.verdict(on: "/orders"), "the app is told \(answer.detail)", time: answer.time)
    }
    try narrator.step("the genuine app of a user without money buys tea", must: "the same answer") {
      let answer = try world.otherPhone.app("buy tea 1")
      return Happening(
        answer.told == told ? "the same answer" : answer.told ?? "none",
        "status, header fields and body, but for the time", time: answer.time)
    }
    try narrator.step("the bit is put right; the app buys", must: "done") {
      phone.stop()
      try flipBit(of: phone.bundle + "/views/main")
      return try asked("buy tea 1", at: "/orders")
    }
  }

  private func flipBit(of path: String) throws {
    let file = URL(fileURLWithPath: path)
    var data = try Data(contentsOf: file)
    data[data.startIndex] ^= 1
    try data.write(to: file)
  }
}
