// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import Foundation
@testable import ProofKit
import ProofModel
import Testing

/// The store on a real folder, gone when the test is over.
@Suite("MeasurementStore on a real folder")
final class MeasurementFolderTests {
  private typealias Failure = MeasurementStoreError

  private let root = FileManager.default.temporaryDirectory.path + "/proofkit-\(UUID().uuidString)"
  private var folder: String { root + "/state/app/measurement" }

  init() throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  // Tests/Adversary/Store checks every umask, since a umask is the whole process's.
  @Test("the next process finds the saved pair, and only its owner can read it")
  func lasting() throws {
    try MeasurementStore(folder: folder).save(Sample.pair(1))
    #expect(try MeasurementStore(folder: folder).load() == Sample.pair(1))
    #expect(try mode(folder + "/measurement") == 0o600)
    #expect(try mode(folder) == 0o700)
    #expect(try mode(root + "/state") == 0o700)
  }

  @Test("a folder has one store, and the second is told who has it")
  func oneStore() throws {
    var first: MeasurementStore? = try MeasurementStore(folder: folder)
    #expect(throws: Failure.inUse(path: folder, processID: getpid())) {
      try MeasurementStore(folder: self.folder)
    }
    try first?.save(Sample.pair(1))
    first = nil
    #expect(try MeasurementStore(folder: folder).load()?.generation == 1)
  }

  @Test("a folder that others may write in is refused")
  func openFolder() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
    #expect {
      try MeasurementStore(folder: folder)
    } throws: { error in
      if case Failure.unusable = error { return true }
      return false
    }
  }

  @Test("a link or a FIFO in the file's place is an error, not a place to write to or wait at")
  func notAFile() throws {
    let store = try MeasurementStore(folder: folder)
    let victim = root + "/victim"
    try Data("v".utf8).write(to: URL(fileURLWithPath: victim))
    for name in ["measurement", "measurement.new"] {
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder)/\(name)", withDestinationPath: victim)
    }
    #expect(throws: Failure.self) { try store.load() }
    try FileManager.default.removeItem(atPath: folder + "/measurement")
    let made = unsafe mkfifo(folder + "/measurement", 0o600)
    #expect(made == 0)
    #expect(throws: Failure.self) { try store.load() }
    try FileManager.default.removeItem(atPath: folder + "/measurement")
    try store.save(Sample.pair(1))
    #expect(try Data(contentsOf: URL(fileURLWithPath: victim)) == Data("v".utf8))
    #expect(try store.load() == Sample.pair(1))
  }

  @Test("backup programs are asked to leave the folder out")
  func backup() throws {
    _ = try MeasurementStore(folder: folder)
    let tag = try String(contentsOfFile: folder + "/CACHEDIR.TAG", encoding: .utf8)
    #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n"))
  }
}
