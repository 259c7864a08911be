// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import Testing

@Suite struct GateConfigurationTests {
  private func read(
    _ changes: [String: String] = [:], without left: [String] = []
  ) throws -> GateConfiguration {
    let desk = try ConfigurationDesk()
    return try GateConfiguration(
      desk.signed(changes, without: left), signedBy: desk.fingerprint)
  }

  @Test func `named challenges and the kill switch are read`() throws {
    let read = try read()
    #expect(read.isWatched)
    #expect(read.challenges.map(\.name) == ["login", "late"])
    #expect(read.challenges.map(\.kind) == [.work, .person])
    #expect(read.challenges.map(\.level) == [16, 0] && read.challenges.map(\.life) == [120, 600])
    #expect(try !self.read(["watch": "false"]).isWatched)
  }

  @Test func `a configuration of an earlier service has neither`() throws {
    let read = try read(without: ["watch", "challenges"])
    #expect(!read.isWatched && read.challenges.isEmpty)
  }

  @Test func `members and kinds of a later service are left out`() throws {
    let kinds = #"[{"name":"a","kind":"riddle"},{"name":"b","kind":"proof","level":0,"life":60}]"#
    let read = try read(["later": #"{"x":[1]}"#, "challenges": kinds])
    #expect(read.challenges.map(\.name) == ["b"])
    #expect(read.isWatched)
  }

  @Test(arguments: [
    ("watch", "1", "watch"), ("watch", "null", "watch"), ("challenges", "{}", "challenges"),
    ("challenges", "[1]", "challenges"), ("challenges", #"[{"name":"a"}]"#, "kind"),
    ("challenges", #"[{"name":"a","kind":"work","level":0,"life":60}]"#, "level"),
    ("challenges", #"[{"name":"a","kind":"work","level":25,"life":60}]"#, "level"),
    ("challenges", #"[{"name":"a","kind":"person","level":1,"life":60}]"#, "level"),
    ("challenges", #"[{"name":"a","kind":"proof","level":0,"life":0}]"#, "life"),
    (
      "challenges",
      #"[{"name":"a","kind":"proof","level":0,"life":9},{"name":"a","kind":"token","level":0,"life":9}]"#,
      "challenges"
    ),
  ])
  func `a malformed member is refused by its name`(
    _ member: String, _ value: String, _ name: String
  ) throws {
    #expect(throws: GateConfigurationError.malformed(claim: name)) { try read([member: value]) }
  }
}
