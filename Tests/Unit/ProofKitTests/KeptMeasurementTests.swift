// SPDX-License-Identifier: Apache-2.0

import FolderModel
import Foundation
import ProofModel
import Testing

@testable import ProofKit

@Suite("A measurement that a store has read")
final class KeptMeasurementTests {
  let folder = "/var/tmp/proofkit-kept-\(UInt64.random(in: 1 ... .max))"

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  @Test("is not read again while the store has the folder to itself")
  func once() throws {
    let store = try MeasurementStore(folder: folder)
    #expect(try store.load() == nil)
    let pair = try Sample.pair(7)
    try store.save(pair)
    #expect(try store.load() == pair)
    let file = URL(fileURLWithPath: folder + "/measurement")
    try Data([1, 2, 3]).write(to: file)
    #expect(try store.load() == pair)
  }

  @Test("a file of the folder that is not there is removed without a write")
  func missing() throws {
    let store = try MeasurementStore(folder: folder)
    #expect(try store.file("other") == nil)
    try store.replace("other", with: nil)
    try store.replace("other", with: [1, 2])
    #expect(try store.file("other") == [1, 2])
    try store.replace("other", with: nil)
    #expect(try store.file("other") == nil)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(Set(names) == ["lock", "CACHEDIR.TAG"])
  }

  @Test("a file that is not there costs one reading access, and a file that is costs more")
  func accesses() throws {
    let folder = ModelFolder()
    let store = MeasurementStore(folder)
    try store.replace("other", with: nil)
    #expect(folder.callCount == 1)
    try store.replace("other", with: [1])
    let before = folder.callCount
    try store.replace("other", with: nil)
    #expect(folder.callCount == before + 3 && folder.contents["other"] == nil)
  }
}
