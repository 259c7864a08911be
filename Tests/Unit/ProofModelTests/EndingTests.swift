// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofModel

/// Calls that only a defect of the caller makes. Each ends the process before anything is sent.
@Suite("A call that cannot be right ends the process")
struct EndingTests {
  @Test("an answer with keys of strings and pairs, with three keys, or with four pairs")
  func answers() async {
    for (keys, pairs) in [(1, 1), (3, 0), (0, 4)] {
      await #expect(processExitsWith: .failure, "\(keys) \(pairs)") {
        [keys = keys as Int, pairs = pairs as Int] in
        let world = try World()
        let answer = AttestationAnswer(
          to: world.draft.salt, .done,
          stringKeys: try (0..<keys).map { _ in try StringKey(.random(count: 32)) },
          upcoming: (0..<pairs).map { _ in UpcomingPair(world.config, token: "t", label: "") })
        _ = answer.bytes(with: world.key)
      }
    }
  }

  @Test("a problem beyond the last one of its work")
  func problems() async throws {
    for (kind, level, index) in [(7, 1, 16), (8, 2, 2)] as [(UInt8, UInt8, UInt8)] {
      await #expect(processExitsWith: .failure, "\(kind)") {
        [kind = kind as UInt8, level = level as UInt8, index = index as UInt8] in
        let id = [1 << 4 | kind, 1, level, 0] + [UInt8](repeating: 7, count: 56)
        _ = try WorkSolver(Base64.encode(id, .url)).problem(index)
      }
      let id = [1 << 4 | kind, 1, level, 0] + [UInt8](repeating: 7, count: 56)
      _ = try WorkSolver(Base64.encode(id, .url)).problem(index - 1)
    }
  }

  @Test("a number of more bytes than it holds, and a class of commands beyond 15")
  func numbers() async {
    #expect(UInt64(littleEndianBytes: [UInt8](1...8)) == 0x0807_0605_0403_0201)
    await #expect(processExitsWith: .failure) {
      _ = UInt64(littleEndianBytes: [UInt8](1...9))
    }
    await #expect(processExitsWith: .failure) {
      _ = CommandClass(integerLiteral: 16)
    }
  }
}
