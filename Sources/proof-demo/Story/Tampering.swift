// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Story {
  /// The app or its environment differs from the measurement.
  func tamper() throws {
    narrator.begin("Attacks on the app")
    try narrator.step("the app runs in a debugger", must: Self.differs("debugger")) {
      try phone.start(by: [world.tool.path("proof-tracer")])
      return try refused(for: "debugger")
    }
    try narrator.step("a library is preloaded", must: Self.differs("preloading")) {
      // It replaces `send`, and so sees all packets of the app.
      try phone.start(environment: ["LD_PRELOAD": world.tool.path("libDemoPreload.so")])
      return try refused(for: "preloading")
    }
    let file = ["rules", "version", "views/main"].randomElement(using: &chance) ?? "rules"
    let path = URL(fileURLWithPath: phone.bundle + "/" + file)
    var shipped = Data()
    try narrator.step("one bit of its bundle is changed", must: Self.differs("bundle")) {
      shipped = try Data(contentsOf: path)
      var patched = shipped
      let place = Int.random(in: patched.indices, using: &chance)
      patched[place] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
      try patched.write(to: path)
      try phone.start()
      return try refused(for: "bundle")
    }
    try narrator.step("the file is put right", must: "accepted") {
      try shipped.write(to: path)
      return Happening(try phone.app("open"))
    }
  }

  private static func differs(_ source: String) -> String { "integrity differs, for \(source)" }

  /// Has the app try to open. Returns the lock's verdict, and the source if the app's own diagnosis
  /// names it.
  private func refused(for source: String) throws -> Happening {
    lock.turnPage()
    let answer = try phone.app("open")
    let verdict = try lock.verdict(on: "command")
    let diagnosis = try phone.app("diagnose")
    let blamed = diagnosis.outcome.split(separator: ", ").contains(Substring(source))
    phone.stop()
    return Happening(
      "\(verdict), for \(blamed ? source : diagnosis.outcome)",
      "the app is told: \(answer.outcome); its diagnosis: \(diagnosis.detail)", time: answer.time)
  }
}
