// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing
import VectorFiles

/// The backend's end of the hardware's log, against the second implementation's readings.
@Suite("Log of the hardware")
struct HardwareLogTests {
  @Test("readings tell what the second implementation tells", arguments: readings)
  func reading(block: Block) throws {
    let hardware = try HardwareID(block.bytes("hardware_id"))
    let key = HardwareLogKey(
      of: hardware, number: block.number("first"), key: block.secret("first_key"))
    var reader: HardwareLogReader? = HardwareLogReader(of: key)
    var (told, result, outcome) = ([String](), "none", "")
    for (name, value) in block.lines {
      switch name {
      case "log":
        do throws(ProofError) {
          let part = try HardwareLogPart(value.split(separator: " ").flatMap { hex($0) })
          #expect(part.bytes == value.split(separator: " ").flatMap { hex($0) })
          told += try reader!.read(part, within: block.number("bound")).map(Self.line)
          result = "none"
        } catch {
          result = Self.word(error)
        }
      case "close":
        let (last, judged) = reader.take()!.end()
        told += last.map(Self.line)
        outcome = judged.rawValue
      case "finding":
        try #require(!told.isEmpty, "nothing told instead of \(value)")
        #expect(told.removeFirst() == value)
      case "result":
        #expect((result, told) == (value, []))
      case "outcome":
        #expect((outcome, told) == (value, []))
      default: break
      }
    }
  }

  @Test("a key that advances reads from its entry on, and nothing before")
  func advanced() throws {
    let block = try #require(Self.readings.first)
    let hardware = try HardwareID(block.bytes("hardware_id"))
    let first = HardwareLogKey(of: hardware, number: 0, key: block.secret("first_key"))
    #expect(first.advanced(to: 4).number == 4)
    #expect(first.advanced(to: 4).advanced(to: 2).number == 4)
    #expect("\(first)" == "HardwareLogKey(\(hardware), 0)")
    let parts = try block.all("log").map {
      try HardwareLogPart($0.split(separator: " ").flatMap { hex($0) })
    }
    let start = try #require(parts.map(\.entries.lowerBound).filter { $0 > 0 }.first)
    var reader = HardwareLogReader(of: first.advanced(to: start))
    var numbers: [UInt64] = []
    for part in parts {
      if part.entries.lowerBound < start {
        #expect(throws: ProofError.logTooFar(steps: HardwareLogReader.stepsMax)) {
          _ = try reader.read(part)
        }
      } else {
        numbers += try reader.read(part).compactMap(\.entry?.number)
      }
    }
    #expect(numbers.first == start)
    #expect(reader.end().1 == .whole)
  }

  @Test("the key comes from what the factory drew", arguments: Block.read("log.txt", "log_keys"))
  func firstKey(block: Block) throws {
    let number: UInt64 = block.number("number")
    let hardware = try HardwareID(block.bytes("hardware_id"))
    let key = try HardwareLogKey(of: hardware, drawn: block.secret("drawn")).advanced(to: number)
    #expect(key.number == number)
    let expected = HardwareLogKey(of: hardware, number: number, key: block.secret("key"))
    #expect(key.hasSameKey(as: expected))
    #expect(!key.hasSameKey(as: key.advanced(to: number + 1)))
  }

  @Test("a factory secret that cannot be one gives no key")
  func wrongSecret() throws {
    let id = HardwareID.random()
    #expect(throws: ProofError.wrongLength(of: "factory secret", expected: 32...32, actual: 31)) {
      _ = try HardwareLogKey(of: id, drawn: .random(count: 31))
    }
    #expect(throws: ProofError.allZeros(of: "factory secret")) {
      let zeros = [UInt8](repeating: 0, count: 32)
      _ = try HardwareLogKey(of: id, drawn: SecretBytes(copying: zeros.span))
    }
  }

  @Test("entries have the fields of the second implementation", arguments: entries)
  func fields(block: Block) throws {
    let number: UInt64 = block.number("number")
    let hardware = try HardwareID(block.bytes("hardware_id"))
    let key = HardwareLogKey(of: hardware, number: number, key: block.secret("key"))
    let entry = try #require(key.opened(block.bytes("entry")))
    #expect(entry.event.rawValue == block.number("event"))
    #expect(entry.verdictNumber == block.number("verdict"))
    #expect((entry.commandClass, entry.kind) == (block.number("class"), block.number("kind")))
    #expect((entry.time ?? 0, entry.counter) == (block.time("epoch"), block.number("counter")))
    #expect((entry.time == nil) == block.has("epoch", "0"))
    #expect(entry.number == number)
    let who = block.bytes("who")
    if let note = entry.note {
      #expect(note.undone == block.number("undone"))
      #expect(note.hasStarted == block.has("flags", "1"))
      let refused = note.refused
      #expect([refused.commands, refused.tokens, refused.messages, refused.busy] == who)
    } else {
      #expect(entry.instanceBegins == who)
    }
    #expect((entry.note == nil) == (entry.event != .note))
    #expect(entry.verdict == Verdict(rawValue: block.number("verdict")))
  }

  @Test("bytes that are no part are malformed, at any length")
  func malformed() throws {
    let part = try #require(Self.readings.first).all("log")[0].split(separator: " ")
      .flatMap { hex($0) }
    for count in 0..<part.count {
      #expect(throws: ProofError.self) { _ = try HardwareLogPart(Array(part.prefix(count))) }
    }
    #expect(throws: ProofError.malformed("part of a log", byteCount: part.count + 1)) {
      _ = try HardwareLogPart(part + [0])
    }
    let noNonce = [UInt8](repeating: 0, count: 16) + part.dropFirst(16)
    #expect(throws: ProofError.malformed("part of a log", byteCount: part.count)) {
      _ = try HardwareLogPart(noNonce)
    }
  }

  static let readings = Block.read("log.txt", "log_reading")
  static let entries = Block.read("log.txt", "log_entry")

  private static func line(_ finding: HardwareLogFinding) -> String {
    "\(finding.kind.rawValue) \(finding.entries.lowerBound) \(finding.entries.count)"
  }

  private static func word(_ error: ProofError) -> String {
    switch error {
    case .malformed: "malformed"
    case .tooNew: "too-new"
    case .differs: "differs"
    case .logTooFar: "too-far"
    default: "\(error)"
    }
  }
}
