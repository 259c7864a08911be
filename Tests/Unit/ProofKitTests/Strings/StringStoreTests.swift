// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import FolderModel
import Foundation
import ProofModel
import Testing

@testable import ProofKit

@Suite("The store of an app's own strings")
final class StringStoreTests {
  private typealias Failure = SecureStringError

  let path = "/var/tmp/proofkit-strings-\(UInt64.random(in: 1 ... .max))"
  let name = SecureStringStore.fileName(of: "acme")

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private func file(_ values: [String: String], _ key: StringKey) throws -> [UInt8] {
    let folder = ModelFolder()
    let store = SecureStringStore(folder)
    for (name, value) in values {
      try store.define(name, as: secret(value), of: "acme", with: [key])
    }
    return try #require(folder.contents[name])
  }

  private func read(
    _ name: String, _ store: SecureStringStore, _ keys: StringKey...
  ) throws -> String {
    text(of: try store.string(named: name, of: "acme", with: keys))
  }

  @Test("strings come back for the next process, under their names, until they are removed")
  func lasting() throws {
    let key = try stringKey(1)
    let store = SecureStringStore(folder: path)
    try store.define("a", as: secret("one"), of: "acme", with: [key])
    try store.define("é", as: secret("two \u{1F511}"), of: "acme", with: [key])
    try store.define("a", as: secret("three"), of: "acme", with: [key])
    let next = SecureStringStore(folder: path)
    #expect(try read("a", next, key) == "three" && read("é", next, key) == "two \u{1F511}")
    #expect(throws: Failure.notThere(name: "b")) { try self.read("b", next, key) }
    // Another account's strings stand in another file.
    #expect(throws: Failure.notThere(name: "a")) {
      _ = try next.string(named: "a", of: "other", with: [key])
    }
    try next.remove("a", of: "acme", with: [key])
    try next.remove("a", of: "acme", with: [key])
    #expect(throws: Failure.notThere(name: "a")) { try self.read("a", store, key) }
    let mode = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
    #expect(mode[.posixPermissions] as? Int == 0o600)
    try store.erase("acme")
    #expect(throws: Failure.notThere(name: "é")) { try self.read("é", store, key) }
  }

  @Test("the file shows neither names nor values, and another installation's key opens none")
  func copied() throws {
    let (mine, other) = (try stringKey(1), try stringKey(2))
    let bytes = try file(["the name": "the value"], mine)
    let shown = String(decoding: bytes, as: UTF8.self)
    #expect(!shown.contains("the name") && !shown.contains("the value"))
    let folder = ModelFolder(holding: [name: bytes])
    let store = SecureStringStore(folder)
    #expect(throws: Failure.notThere(name: "the name")) { try self.read("the name", store, other) }
    try store.remove("the name", of: "acme", with: [other])
    // Reading and removing changed no byte.
    #expect(folder.contents == [name: bytes])
    try store.define("the name", as: secret("of the other"), of: "acme", with: [other])
    #expect(try read("the name", store, other) == "of the other")
    #expect(try read("the name", store, mine) == "the value")
  }

  @Test("the key before the active one still opens its strings, and they are sealed anew")
  func rotation() throws {
    let (old, new) = (try stringKey(1), try stringKey(2))
    let folder = ModelFolder(holding: [name: try file(["a": "1", "b": "2", "c": "3"], old)])
    let store = SecureStringStore(folder)
    // A newer string under the active key counts.
    try store.define("b", as: secret("newer"), of: "acme", with: [new])
    #expect(try read("a", store, new, old) == "1")
    // Reading one string has sealed all of them anew.
    for (name, value) in ["a": "1", "b": "newer", "c": "3"] {
      #expect(try read(name, store, new) == value)
      #expect(throws: Failure.notThere(name: name)) { try self.read(name, store, old) }
    }
    // A change does as well, and a removed string does not come back.
    let other = SecureStringStore(
      ModelFolder(holding: [name: try file(["a": "1", "b": "2"], old)]))
    try other.remove("b", of: "acme", with: [new, old])
    #expect(try read("a", other, new) == "1")
    #expect(throws: Failure.notThere(name: "b")) { try self.read("b", other, new, old) }
  }

  @Test("a power cut before any call leaves the strings of before or those of after, and no others")
  func powerCuts() throws {
    let key = try stringKey(1)
    let before = try file(["a": "1", "b": "2"], key)
    func change(_ fault: ModelFolder.Fault) -> (ModelFolder, Bool) {
      let folder = ModelFolder(fault, holding: [name: before])
      let store = SecureStringStore(folder)
      let isDone = (try? store.define("a", as: secret("3"), of: "acme", with: [key])) != nil
      return (folder, isDone)
    }
    let count = change(.init()).0.callCount
    #expect(count > 5)
    for cut in 0...count {
      let (folder, isDone) = change(.init(cut: cut))
      #expect(isDone == (cut == count))
      for remains in folder.afterPowerCut() {
        let next = SecureStringStore(ModelFolder(holding: remains))
        let value = try read("a", next, key)
        #expect(isDone ? value == "3" : ["1", "3"].contains(value), "cut \(cut)")
        #expect(try read("b", next, key) == "2")
      }
    }
    // The same power cut is noticed where a file or the folder is never synchronized.
    for fault in [ModelFolder.Fault(forgetsFiles: true), .init(forgetsFolder: true)] {
      let (folder, isDone) = change(fault)
      let values = folder.afterPowerCut().map { remains in
        try? read("a", SecureStringStore(ModelFolder(holding: remains)), key)
      }
      #expect(isDone && values.contains { $0 != "3" })
    }
  }

  @Test("any call may fail: the error says so, and the strings of before are there")
  func faults() throws {
    let key = try stringKey(1)
    let before = try file(["a": "1"], key)
    for call in 0..<12 {
      let folder = ModelFolder(.init(failing: (call, ENOSPC)), holding: [name: before])
      let store = SecureStringStore(folder)
      do throws(SecureStringError) {
        try store.define("a", as: secret("2"), of: "acme", with: [key])
        continue
      } catch {
        switch error {
        case .storageUnusable: #expect(folder.contents[name] == before)
        case .notDurable: break
        default: Issue.record("call \(call): \(error)")
        }
      }
      folder.mend()
      #expect(["1", "2"].contains(try read("a", store, key)))
    }
  }

  @Test("a damaged file is kept under another name and reported once; a newer one is left alone")
  func damage() throws {
    let key = try stringKey(1)
    let good = try file(["a": "1"], key)
    var cut = good
    cut.removeLast()
    let folder = ModelFolder(holding: [name: cut])
    let store = SecureStringStore(folder)
    let aside = name + ".damaged-1"
    #expect(throws: Failure.damaged(keptAs: aside, byteCount: cut.count)) {
      try self.read("a", store, key)
    }
    #expect(folder.contents == [aside: cut])
    #expect(throws: Failure.notThere(name: "a")) { try self.read("a", store, key) }

    var newer = good.dropLast(32)
    newer[4] = 2
    let label = Array("pfs1.strings....".utf8)
    let whole = newer + Digest(hashing: label + newer).bytes
    folder.put([name: Array(whole)])
    #expect(throws: Failure.tooNew(version: 2)) { try self.read("a", store, key) }
    #expect(throws: Failure.tooNew(version: 2)) {
      try store.define("a", as: secret("2"), of: "acme", with: [key])
    }
    #expect(folder.contents == [name: Array(whole)])
  }

  @Test("a value that was changed, or that stands in another's place, does not open; others do")
  func changedValues() throws {
    let key = try stringKey(1)
    let good = try StringFile(parsing: file(["a": "1", "b": "2", "c": "3"], key))
    let records = good.records
    func store(_ changed: [StringFile.Record]) throws -> SecureStringStore {
      var file = StringFile()
      for record in changed { try file.set(record) }
      return SecureStringStore(ModelFolder(holding: [name: file.bytes]))
    }
    func record(_ name: String) throws -> StringFile.Record {
      try #require(records.first { $0.place.name == key.place(of: name) })
    }
    let (a, b) = (try record("a"), try record("b"))
    var body = a.sealed.body
    body[3] ^= 1
    let flipped = StringFile.Record(
      place: a.place, sealed: .init(nonce: a.sealed.nonce, body: body))
    let moved = StringFile.Record(place: a.place, sealed: b.sealed)
    for changed in [flipped, moved] {
      let store = try store([changed, b, record("c")])
      #expect(throws: Failure.stringDamaged(name: "a")) { try self.read("a", store, key) }
      #expect(try read("b", store, key) == "2" && read("c", store, key) == "3")
      try store.define("a", as: secret("4"), of: "acme", with: [key])
      #expect(try read("a", store, key) == "4")
    }
  }

  @Test("no room says so, names the limit, and changes nothing")
  func limits() throws {
    let key = try stringKey(1)
    let folder = ModelFolder()
    let store = SecureStringStore(folder)
    func define(_ name: String, _ count: Int, _ key: StringKey) throws {
      let value = SecretBytes(copying: [UInt8](repeating: 0x61, count: count).span)
      try store.define(name, as: value, of: "acme", with: [key])
    }
    for index in 0..<SecureStringLimits.count { try define("\(index)", 1, key) }
    var before = folder.contents
    #expect(throws: Failure.noRoom(.count)) { try define("more", 1, key) }
    #expect(folder.contents == before)
    try define("0", 65_535, key)
    for index in 1..<3 { try define("\(index)", 65_535, key) }
    before = folder.contents
    #expect(throws: Failure.noRoom(.bytes)) { try define("3", 65_535, key) }
    #expect(folder.contents == before)
    // Other keys have room of their own, up to the file's limit.
    for number in 2...4 as ClosedRange<UInt8> {
      for index in 0..<SecureStringLimits.count { try define("\(index)", 1, stringKey(number)) }
    }
    #expect(throws: Failure.noRoom(.file)) { try define("a", 1, stringKey(5)) }
    #expect(try read("4", store, key) == "a")
  }

  @Test("definitions at the same time are all kept, in one process and in one folder")
  func concurrency() async throws {
    let path = path
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<16 {
        group.addTask {
          let store = SecureStringStore(folder: path)
          let key = try stringKey(1)
          try store.define("\(index)", as: secret("value \(index)"), of: "acme", with: [key])
        }
      }
      try await group.waitForAll()
    }
    let (store, key) = (SecureStringStore(folder: path), try stringKey(1))
    for index in 0..<16 { #expect(try read("\(index)", store, key) == "value \(index)") }
  }

  @Test("a folder that others may write in, or that another process keeps, is a readable error")
  func unusable() throws {
    let key = try stringKey(1)
    let store = SecureStringStore(folder: path)
    try store.define("a", as: secret("1"), of: "acme", with: [key])
    var lock: FolderLock? = try FolderLock(path + "/strings.lock")
    #expect(try read("a", store, key) == "1")
    let held = #expect(throws: Failure.self) { try store.remove("a", of: "acme", with: [key]) }
    #expect(lock != nil && held?.description.contains("process \(getpid()) keeps them") == true)
    lock = nil
    try store.remove("a", of: "acme", with: [key])
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
    let error = #expect(throws: Failure.self) { try self.read("a", store, key) }
    guard case .storageUnusable = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }
}
