// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Story {
  /// A thief has the owner's data, or a former user has lost the rights.
  func steal() throws {
    narrator.begin("Stolen goods")
    let thief = Phone("thief", world.cast, world.tool)
    try narrator.step("all of its storage is copied to a thief's phone", must: "device differs") {
      phone.stop()
      // Copy the app, its storage and its device secret.
      try phone.copy(to: thief)
      let elsewhere = try move(thief)
      lock.turnPage()
      let answer = try thief.app("open")
      thief.stop()
      return Happening(
        try lock.verdict(on: "command"), "\(elsewhere); the app is told: \(answer.outcome)",
        time: answer.time)
    }
    try narrator.step("the token alone is stolen, and spent", must: "held, then device differs") {
      let verdict = try attack(
        "spend", "--store", thief.storage + "/measurement", "--hardware", lock.identity.id)
      return Happening(verdict, "the lock keeps it for its owner, who alone can prove")
    }
    try narrator.step("the owner still gets in", must: "accepted") {
      Happening(try phone.app("open"))
    }
    try narrator.step("the other phone opens the lock", must: "accepted") {
      Happening(try world.otherPhone.app("open"))
    }
    try narrator.step("it is lost: the owner's phone carries the order", must: "order done") {
      let instance = try world.otherPhone.app("show").instance ?? ""
      let order = try world.backend.revocation(of: instance, at: lock.identity)
      return Happening(try phone.app("carry \(order)"))
    }
    try narrator.step("the lost phone tries to open", must: "revoked") {
      defer { world.otherPhone.stop() }
      lock.turnPage()
      let answer = try world.otherPhone.app("open")
      return Happening(
        try lock.verdict(on: "command"), "the app is told: \(answer.outcome)", time: answer.time)
    }
  }

  /// Starts a phone's app on another device, as far as one machine can be two. It runs under
  /// another machine id or, where the kernel forbids that, with a device secret of its own.
  private func move(_ phone: Phone) throws -> String {
    let machine = world.cast.folder + "/machine-id"
    try PrivateFiles.write(String(PrivateFiles.randomText().prefix(32)) + "\n", to: machine)
    let starter = [world.tool.path("proof-elsewhere"), machine]
    do {
      try world.tool.run(starter[0], [machine, "/bin/true"])
    } catch {
      try FileManager.default.removeItem(atPath: phone.storage + "/device-secret")
      try phone.start()
      return "the copy has a device secret of its own"
    }
    try phone.start(by: starter)
    return "the copy runs under another machine id"
  }
}
