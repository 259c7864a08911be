// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Story {
  /// The app is updated: it has fewer rights until it is measured again.
  func update() throws {
    narrator.begin("An update of the app")
    try narrator.step("version 2 is installed; it tries to open", must: "integrity differs") {
      phone.stop()
      try PrivateFiles.write("2.0\n", to: phone.bundle + "/version")
      try PrivateFiles.write("a bigger round button\n", to: phone.bundle + "/views/main")
      lock.turnPage()
      let answer = try phone.app("open")
      return Happening(
        try lock.verdict(on: "command"), "the app is told: \(answer.outcome)", time: answer.time)
    }
    try narrator.step("by its device alone it asks for the status", must: "accepted, device only") {
      Happening(try phone.app("status device"))
    }
    try narrator.step("with that proof it tries to open", must: "ask the backend: not permitted") {
      Happening(try phone.app("open device"))
    }
    try narrator.step("its diagnosis, offline, says what changed", must: "bundle") {
      Happening(try phone.app("diagnose"))
    }
    try narrator.step("online again, version 2 is registered, measured", must: "fetched") {
      try world.goOnline()
      try world.register(phone)
      return Happening(try phone.app("fetch"))
    }
    try narrator.step("it opens the lock, offline", must: "accepted") {
      world.goOffline()
      return Happening(try phone.app("open"))
    }
    try narrator.step("and sets it to close itself after 30 seconds", must: "accepted") {
      Happening(try phone.app("autolock 30"))
    }
  }
}
