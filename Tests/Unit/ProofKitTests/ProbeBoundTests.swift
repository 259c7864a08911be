// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import ProofModel
import Testing

@testable import ProofKit

@Suite("A probe at its bounds")
final class ProbeBoundTests {
  private let folder = "/var/tmp/proofkit-probe-\(UInt64.random(in: 1 ... .max))"
  private let bundle = Probe.sources.filter { $0.id.description == "app 3" }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// Files of the bundle, of these lengths, whose times are long past.
  private func write(_ lengths: [Int]) throws {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true)
    for (number, length) in lengths.enumerated() {
      let path = "\(folder)/file-\(number)"
      try Data(repeating: UInt8(number), count: length).write(to: URL(filePath: path))
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: path)
    }
  }

  @Test("takes the choices of the page unless told otherwise")
  func options() {
    let options = Probe.Options()
    #expect(options.bundle == nil && options.folders.isEmpty && options.storage == nil)
    #expect(options.plugins.isEmpty && options.hardens && options.executable == nil)
    #expect(options.keptDescriptorCount == 0 && options.cacheByteLimit == nil)
    #expect(options.collection == [])
  }

  @Test("reads as many bytes as it is allowed to, and no more")
  func bytes() async throws {
    let probe = try Probe(.init(bundle: folder, hardens: false))
    try write([65_536])
    #expect(try await probe.evidence(of: bundle, limitLog2: 16).records.count >= 1)
    try write([65_537])
    let error = await #expect(throws: ProofError.self) {
      try await probe.evidence(of: bundle, limitLog2: 16)
    }
    guard case .evidenceUnavailable(let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains("has more bytes than the configuration allows to read"))
    #expect(try await probe.evidence(of: bundle, limitLog2: 17).records.count >= 1)
  }

  @Test("is asked for 24 sources, and not for 25")
  func sources() async throws {
    let probe = try Probe(.init(hardens: false))
    for count in [24, 25] {
      // None of them is one that a probe has.
      let sources = try (0..<count).map {
        try Source(SourceID(.app, UInt8(100 + $0)), version: 1, groupsLog2: 0)
      }
      let error = await #expect(throws: ProofError.self) { try await probe.evidence(of: sources) }
      let isTooMany =
        error
        == .outOfRange(field: "number of sources", value: "25", allowed: "at most 24")
      #expect(isTooMany == (count == 25), "\(String(describing: error))")
    }
  }
}

@Suite("An installed app's own records")
struct InstalledRecordTests {
  @Test("are those of its executable and its folders: the sources 2 and 3 of the class app")
  func sources() throws {
    let records = try InstalledApp(executable: "/bin/sh", bundle: nil).evidence().records
    let sources = Set(records.map { "\($0.source)" })
    #expect(sources.contains("app 2") && sources.isSubset(of: ["app 2", "app 3"]))
  }
}

@Suite("The system as the library names it")
struct SystemNameTests {
  @Test("the kernel has its release and the machine, without what follows a name")
  func kernel() throws {
    let release = try String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)
    #expect(CoreSystem.kernel.release + "\n" == release)
    let machine = CoreSystem.kernel.machine
    #expect(
      !machine.isEmpty
        && machine.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
    let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    #expect(CoreSystem.executableName == URL(filePath: executable).lastPathComponent)
  }

  @Test("the library has 64 threads for requests, 32 for fetches, 16 for puzzles and for pages")
  func threads() async {
    // In a process of its own, where no other test uses them.
    await #expect(processExitsWith: .success) {
      for (pool, limit) in [
        (CorePool.requests, 64), (.fetches, 32), (.puzzles, 16), (.pages, 16),
      ] {
        let gate = Latch()
        let ended = DispatchSemaphore(value: 0)
        for _ in 0...limit {
          pool.run {
            gate.wait()
            ended.signal()
          }
        }
        #expect(pool.threadCount == limit)
        gate.open()
        for _ in 0...limit { ended.wait() }
      }
    }
  }
}
