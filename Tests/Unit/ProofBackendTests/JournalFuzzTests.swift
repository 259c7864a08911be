// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import SeededRandom
import Testing

@testable import ProofBackend

/// The reader of replay journals under files that are almost right.
@Suite("Replay journals, mutated")
struct JournalFuzzTests {
  /// A time in 2096: a file that was changed after the time of its store counts as a backup.
  private static let now: UnixTime = 4_000_000_000
  private static let shape = ReplayJournal.Shape(chunk: 16, most: 64, steps: 4)
  private static let count = 20

  private static func open(_ path: String) throws -> JournalReplayStore {
    try JournalReplayStore(at: path, boot: [1], shape: shape, systemTime: { now.unsigned })
  }

  @Test("a changed file is refused, or incomplete, or knows each used key")
  func files() throws {
    var mutator = Mutator("replay journal")
    let folder = TestFolder()
    let path = folder.path("replay")
    do {
      let store = try Self.open(path)
      _ = try store.begin(at: Self.now)
      for number in 0..<Self.count {
        #expect(try store.insert(.numbered(number), until: Self.now + 150, at: Self.now))
      }
    }
    let whole = [UInt8](try Data(contentsOf: URL(filePath: path)))
    var ends = (refused: 0, incomplete: 0, complete: 0)
    for _ in 0..<Mutator.rounds {
      let bytes = mutator.mutant(of: [whole])
      let mutant = folder.path("mutant")
      try? FileManager.default.removeItem(atPath: mutant)
      #expect(
        FileManager.default.createFile(
          atPath: mutant, contents: Data(bytes), attributes: [.posixPermissions: 0o600]))
      do {
        let store = try Self.open(mutant)
        // The first start had a gap, too; a new one is later.
        if try store.begin(at: Self.now + 1).gap == Self.now + 1 {
          ends.incomplete += 1
          continue
        }
        ends.complete += 1
        for number in 0..<Self.count {
          #expect(try !store.insert(.numbered(number), until: Self.now + 150, at: Self.now + 1))
        }
      } catch is ReplayStoreFailure {
        ends.refused += 1
      }
    }
    #expect(ends.refused > 0 && ends.incomplete > 0, "\(ends)")
  }
}
