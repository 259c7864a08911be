// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// An admission to a gate, as an answer carries it.
func probeAdmission() throws {
  let gate = GateID.random()
  let head = Array("PG".utf8) + [1, 1, 1] + gate.bytes[0..<3]
  let token = try GateToken(head + [UInt8](repeating: 7, count: GateToken.byteCount - head.count))
  let audience = AudienceID.random()
  let events = GateAdmission.Events(3300...3400, for: audience, life: 60)
  try expect(events.numbers.count == 101 && events.audience == audience && events.life == 60)
  var headers = GateAdmission.Headers()
  try expect(headers.proof == "proof" && headers.token == "proof-token" && headers.digest == nil)
  headers.digest = "x-digest"
  let key = try GateAccountKey(.random(count: GateAccountKey.byteCount), number: 3)
  let admission = try GateAdmission(
    gate: gate, generation: 5, life: 600, token: token, accountKey: key, form: .compact,
    headers: headers, freshness: 2, hosts: ["b.example.com", "a.example.com"], events: [events])
  let read = try GateAdmission(admission.bytes)
  try expect(read == admission && Set([read]).contains(admission))
  try expect(read.gate == gate && read.generation == 5 && read.life == 600 && read.token == token)
  try expect(read.accountKey?.number == 3 && read.form == .compact && read.headers == headers)
  try expect(read.freshness == 2 && read.hosts.count == 2 && read.events == [events])
  try expect(read.events(of: 3350) == events && read.events(of: 1) == nil)
  try expect(read.covers("a.example.com") && !read.covers("c.example.com"))
  try expect(GateAdmission.lives.contains(read.life))
  try expect(GateAdmission.freshnesses.contains(read.freshness))
  try expect(GateAdmission.hostCountMax == 64 && GateAdmission.eventCountMax == 256)
  try expect(GateAdmission.headerMax == 64 && GateAdmission.hostMax == 253)
  try expect(admission.bytes.count <= GateAdmission.byteCountMax)
  try expect(GateAdmission.Form.allCases == [.standard, .compact, .body])
  try expect(GateAdmission.Form(rawValue: 3) == .body)
  try expect(read.description.contains("generation 5") && read.customMirror.children.count == 1)
}
