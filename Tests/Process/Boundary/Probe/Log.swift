// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The hardware's log: a part that a phone carried, read with a key that is not its own.
func probeLog() throws {
  let nonce = HardwareLogNonce.random()
  var message = [UInt8](repeating: 0, count: 48)
  (message[0], message[8], message[16]) = (20, 4, 20)
  message.replaceSubrange(24..<28, with: [1, 2, 3, 4])
  let part = try HardwareLogPart(answering: nonce, message)
  try expect(HardwareLogPart.byteCounts.contains(part.bytes.count))
  try expect(try HardwareLogPart(part.bytes) == part && part.nonce == nonce)
  try expect(part.message == message && part.entries == 20..<20 && part.isLast)
  try expect(part.oldest == 4 && part.next == 20)
  let told: HardwareLogNote = part.pending
  let refused: HardwareLogNote.Refusals = told.refused
  try expect(refused.commands == 1 && refused.tokens == 2)
  try expect(refused.messages == 3 && refused.busy == 4)
  try expect(told.undone == 0 && !told.hasStarted)

  let hardware = try HardwareID([UInt8](repeating: 7, count: HardwareID.byteCount))
  let drawn = SecretBytes.random(count: 32)
  let key = try HardwareLogKey(of: hardware, drawn: drawn)
  let later = key.advanced(to: 2)
  try expect(key.hardware == hardware && key.number == 0 && later.number == 2)
  try expect(later.description.contains("HardwareLogKey"))
  try expect(!later.customMirror.children.isEmpty)
  var reader = HardwareLogReader(of: key)
  try expect((try? reader.read(part, within: HardwareLogReader.stepsMax)) == nil)
  let (findings, outcome): ([HardwareLogFinding], HardwareLogOutcome) = reader.end()
  try expect(findings.isEmpty && outcome != .altered)
  try expect(HardwareLogOutcome.allCases == [.whole, .incomplete, .altered])

  let kinds: [HardwareLogFinding.Kind] = [
    .entry, .unknown, .undone, .torn, .missing, .overwritten, .unclear, .changed, .forked, .shorter,
  ]
  try expect(HardwareLogFinding.Kind.allCases.count == kinds.count)
  try expect(findings.map(\.kind).isEmpty && findings.map(\.entries).isEmpty)
  let entries: [HardwareLogEntry] = findings.compactMap(\.entry)
  try expect(entries.map(\.number).isEmpty && entries.map(\.event).isEmpty)
  try expect(entries.map(\.verdictNumber).isEmpty && entries.map(\.verdict).isEmpty)
  try expect(entries.map(\.commandClass).isEmpty && entries.map(\.kind).isEmpty)
  try expect(entries.map(\.instanceBegins).isEmpty && entries.map(\.time).isEmpty)
  try expect(entries.map(\.counter).isEmpty && entries.compactMap(\.note).isEmpty)
  try expect(HardwareLogEntry.Event.allCases == [.command, .token, .order, .grant, .note])
  try expect([MessageType.logAsk, .log].count == 2)
}
