// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes
import ProofModel

extension Story {
  private var guest: Phone { world.guestPhone }

  /// A guest's phone gets a token of its own, which opens nothing.
  func letGuestIn() throws {
    try narrator.step(
      "so does a guest's, which may ask for the status alone", must: "enrolled, fetched"
    ) {
      try guest.install(world.service, world.backend)
      try guest.pair(with: lock)
      try world.serve(guests: true)
      let answers = try ["enrol", "fetch"].map { try guest.app($0) }
      try world.serve(guests: false)
      return Happening(answers.map(\.outcome).joined(separator: ", "), answers[1].detail)
    }
  }

  /// The owner lends, without any network, and takes it back.
  func lend() throws {
    narrator.begin("The owner lends, offline")
    try narrator.step("the guest's phone tries to open", must: "not permitted") {
      try guestOpens()
    }
    let name = try guest.app("name").outcome
    var loan = ""
    try narrator.step("the owner's phone lends it two openings, for a day", must: "lent") {
      let answer = try phone.app("lend \(name) 2")
      loan = answer.detail
      return Happening(
        answer.outcome, "\(loan.utf8.count) characters, as a QR code", time: answer.time)
    }
    try narrator.step("one bit of it is changed, and it is brought to the lock", must: "refused") {
      var bytes = try Delegation(text: loan).bytes
      // The number of openings, from two to three.
      bytes[50] ^= 1
      lock.turnPage()
      let answer = try guest.app("bring \(Base64.encode(bytes, .url))")
      let verdict = try lock.verdict(on: "grant")
      return Happening(
        verdict == "device differs" ? "refused" : verdict, "the app is told: \(answer.outcome)",
        time: answer.time)
    }
    try narrator.step(
      "the guest's phone brings it, and opens twice", must: "taken, accepted, accepted"
    ) {
      let answers = try ["bring \(loan)", "open", "open"].map { try guest.app($0) }
      return Happening(answers.map(\.outcome).joined(separator: ", "), answers[0].detail)
    }
    try narrator.step("it tries to open a third time", must: "not permitted") { try guestOpens() }
    try narrator.step(
      "the owner lends again, takes it back, and the guest tries",
      must: "taken, taken, not permitted"
    ) {
      let again = try phone.app("lend \(name) 5").detail
      let back = try phone.app("back \(name)").detail
      let answers = try [guest.app("bring \(again)"), phone.app("bring \(back)")]
      let last = try guestOpens()
      guest.stop()
      let outcomes = answers.map(\.outcome) + [last.outcome]
      return Happening(outcomes.joined(separator: ", "), last.detail)
    }
  }

  /// The lock's verdict when the guest's phone sends "open".
  private func guestOpens() throws -> Happening {
    lock.turnPage()
    let answer = try guest.app("open")
    return Happening(
      try lock.verdict(on: "command"), "the app is told: \(answer.outcome)", time: answer.time)
  }
}
