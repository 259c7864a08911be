// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import LinkSimulation
@testable import ProofLink

/// Hardware that has one answer to each PDU, and counts what happens to it.
private struct ScriptedHardware: LinkPeripheral {
  var answers: [[[UInt8]]?] = []
  var received: [[UInt8]] = []
  var connectCount = 0
  var disconnectCount = 0
  var powerLossCount = 0

  mutating func connect() { connectCount += 1 }
  mutating func disconnect() { disconnectCount += 1 }
  mutating func losePower() { powerLossCount += 1 }

  mutating func receive(_ pdu: [UInt8]) -> [[UInt8]]? {
    received.append(pdu)
    return answers.isEmpty ? [] : answers.removeFirst()
  }
}

@Suite("A simulated exchange, on its virtual clock")
struct LinkModelTests {
  private let pair: LinkPair

  init() throws { pair = try LinkPair() }

  private func exchange(_ task: LinkTask) -> LinkExchange {
    LinkExchange(
      LinkRequest(task, token: pair.token, isHeld: true, mtu: 23, table: LinkPair.table))
  }

  /// FNV-1a, 64 bits, over each event's kind, time and bytes.
  private func digest(_ events: [(kind: UInt8, time: Int, bytes: [UInt8])]) -> UInt64 {
    var sum: UInt64 = 0xCBF2_9CE4_8422_2325
    for event in events {
      for byte in [event.kind, UInt8(truncatingIfNeeded: event.time)] + event.bytes {
        sum = (sum ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
      }
    }
    return sum
  }

  @Test("each PDU goes at the next event of the connection, and the trace has all of them")
  func played() throws {
    let bytes = (0..<DeviceReply.byteCount).map { UInt8($0) }
    let reply: [UInt8] = [0x0B] + bytes
    var model = LinkModel(
      ScriptedHardware(answers: [[[0x13]], [reply]]), faults: LinkFaults(), seed: 7)
    var exchange = exchange(.reply)
    let result = model.play(&exchange)
    guard case .success(.reply(let told)) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(told == bytes)
    let sent: [[UInt8]] = [[0x12, 11, 0, 1, 0], [0x0A, 19, 0]]
    let hardware = model.peripheral
    #expect(hardware.received == sent)
    #expect(hardware.connectCount == 1 && hardware.disconnectCount == 1)
    // The link is up after 30 ms. Each PDU comes 20 ms after the next multiple of 30 ms.
    #expect(
      model.trace
        == digest([
          (1, 30, []), (2, 80, sent[0]), (3, 110, [0x13]), (2, 140, sent[1]), (3, 170, reply),
        ]))
    #expect(model.now == 170)
  }

  @Test("an answer is waited for three seconds, twelve links long")
  func silent() throws {
    var model = LinkModel(ScriptedHardware(), faults: LinkFaults(), seed: 7)
    var exchange = exchange(.reply)
    guard case .failure(let error) = model.play(&exchange) else {
      Issue.record("no failure")
      return
    }
    #expect(error.reason == .linkLost && model.now == 12 * 3_030)
    let hardware = model.peripheral
    #expect(hardware.connectCount == 12 && hardware.disconnectCount == 12)
  }

  @Test("hardware that ends a link is told of its end, and the app 30 ms later")
  func ended() throws {
    var model = LinkModel(
      ScriptedHardware(answers: [nil, [[0x13]]]), faults: LinkFaults(), seed: 7)
    var exchange = exchange(.connect)
    guard case .success(.connected) = model.play(&exchange) else {
      Issue.record("not connected")
      return
    }
    let hardware = model.peripheral
    #expect(hardware.connectCount == 2 && hardware.disconnectCount == 2)
    let subscribe: [UInt8] = [0x12, 11, 0, 1, 0]
    #expect(
      model.trace
        == digest([
          (1, 30, []), (2, 80, subscribe), (4, 110, []), (1, 140, []), (2, 170, subscribe),
          (3, 200, [0x13]),
        ]))
  }

  @Test("a loss of power ends the link, and the hardware learns of both")
  func power() throws {
    var faults = LinkFaults()
    faults.powerLoss = 1000
    var model = LinkModel(ScriptedHardware(), faults: faults, seed: 7)
    var exchange = exchange(.connect)
    guard case .failure(let error) = model.play(&exchange) else {
      Issue.record("no failure")
      return
    }
    let hardware = model.peripheral
    #expect(error.reason == .linkLost && hardware.received.isEmpty)
    #expect(hardware.powerLossCount == 12 && hardware.connectCount == 12)
    #expect(hardware.disconnectCount == 12)
    // 30 ms until a link is up, and 30 ms until the app knows of its end.
    #expect(model.now == 12 * 60)
  }

  @Test("an app without keys proves nothing, and reads no receipt")
  func keyless() throws {
    let challenge: [UInt8] = UInt64(7).littleEndianBytes + [UInt8](repeating: 3, count: 32)
    var model = LinkModel(
      ScriptedHardware(answers: [
        [[0x13]], [[0x0B] + challenge.prefix(22)], [[0x0D] + challenge.dropFirst(22)],
      ]), faults: LinkFaults(), seed: 7)
    var exchange = exchange(.command(after: nil))
    guard case .failure(let error) = model.play(&exchange) else {
      Issue.record("no failure")
      return
    }
    #expect(error == .notMeasured(.storageFailed))
    #expect(throws: ProofError.storageFailed) {
      try LinkApp.keyless.receipt(Answer(.held, counter: 0, to: .random(), with: nil))
    }
  }

  @Test("an impostor forges nine verdicts on the command that it heard last")
  func verdicts() throws {
    var impostor = LinkImpostor()
    for counter in [5, 7] as [UInt64] {
      for packet in try pair.proved(counter).message.packets(of: 20) {
        impostor.hear([0x52, 8, 0] + packet, toApp: false)
      }
    }
    // A PDU to another handle, or to the app, is no command.
    for packet in try pair.proved(9).message.packets(of: 20) {
      impostor.hear([0x52, 9, 0] + packet, toApp: false)
      impostor.hear([0x1B, 8, 0] + packet, toApp: true)
    }
    impostor.hear([0x52, 8, 0], toApp: false)
    var dice = LinkDice(seed: 7)
    var heard: [Verdict: Set<Bool>] = [:]
    for _ in 0..<4_000 {
      var reassembler = Reassembler()
      for pdu in impostor.speak(toApp: true, &dice) where pdu.starts(with: [0x1B, 10, 0]) {
        guard case .complete(let message) = reassembler.receive(Array(pdu[3...])),
          let answer = try? Answer(message)
        else { continue }
        #expect(message.type == .verdict && answer.counter == 7)
        heard[answer.verdict, default: []].insert(answer.isHint)
      }
    }
    #expect(
      Set(heard.keys) == [
        .accepted, .held, .notExecuted, .integrityDiffers, .deviceDiffers, .stale,
        .unknownInstance, .expired, .malformed,
      ])
    // With a receipt that it made up, and without any.
    #expect(heard.values.allSatisfy { $0 == [true, false] })
  }
}
