// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Story {
  /// An update that the operator registered before it was installed, and that is installed without any network.
  func updateAhead() throws {
    narrator.begin("An update that was registered ahead")
    let next = world.cast.folder + "/version-3"
    try narrator.step(
      "version 3 is registered, by records of a reference machine", must: "registered"
    ) {
      try world.goOnline()
      try FileManager.default.copyItem(atPath: phone.bundle, toPath: next)
      try PrivateFiles.write("3.0\n", to: next + "/version")
      try PrivateFiles.write("a round button that is big again\n", to: next + "/views/main")
      let records = try phone.app("records")
      try world.service.register(
        world.tool.path("proof-demo"), bundle: next, updating: phone.bundle,
        records: records.detail)
      return Happening("registered", "\(records.outcome) beside the digests of its files")
    }
    try narrator.step(
      "version 2 fetches a pair for itself and one for version 3", must: "fetched"
    ) {
      Happening(try phone.app("fetch"))
    }
    try narrator.step("version 2 still opens the lock, offline", must: "accepted") {
      world.goOffline()
      return Happening(try phone.app("open"))
    }
    let last = world.cast.folder + "/version-2"
    try narrator.step(
      "version 3 is installed, and opens at its first try, offline", must: "accepted"
    ) {
      try FileManager.default.copyItem(atPath: phone.bundle, toPath: last)
      try install(next)
      return Happening(try phone.app("open"))
    }
    try narrator.step("version 2 is put back; it tries to open", must: "integrity differs") {
      try install(last)
      lock.turnPage()
      let answer = try phone.app("open")
      return Happening(
        try lock.verdict(on: "command"), "the app is told: \(answer.outcome)", time: answer.time)
    }
    try narrator.step("version 3 again", must: "accepted") {
      try install(next)
      return Happening(try phone.app("open"))
    }
  }

  /// Puts other files in the place of the app's.
  private func install(_ bundle: String) throws {
    phone.stop()
    try FileManager.default.removeItem(atPath: phone.bundle)
    try FileManager.default.copyItem(atPath: bundle, toPath: phone.bundle)
  }

  /// All files of the app are copied, and the copy runs where it measures the same: a restored backup does, and a
  /// clone that imitates the device.
  func copy() throws {
    narrator.begin("A copy that measures the same")
    let copied = Phone("copy", world.cast, world.tool)
    defer { copied.stop() }
    try narrator.step(
      "all files of the app are copied; the copy opens the lock", must: "accepted"
    ) {
      phone.stop()
      try phone.copy(to: copied)
      // No verifier without a network can tell them apart yet.
      return Happening(try copied.app("open"))
    }
    try narrator.step(
      "the owner opens it: the lock tells that there is a copy", must: "accepted, copy seen"
    ) {
      Happening(try phone.app("open"))
    }
    try narrator.step("and does not lock the owner out", must: "accepted") {
      Happening(try phone.app("open"))
    }
    try narrator.step(
      "the copy opens it again: it is told, too", must: "accepted, copy seen"
    ) {
      Happening(try copied.app("open"))
    }
    try narrator.step("online, the owner's app tells the service", must: "copy-seen") {
      copied.stop()
      try world.goOnline()
      defer { world.goOffline() }
      _ = try phone.app("fetch")
      let instance = try phone.app("show").instance ?? ""
      let seen = try world.service.properties(of: instance)
      return Happening(seen.contains("copy-seen") ? "copy-seen" : seen.joined(separator: ", "))
    }
  }
}
