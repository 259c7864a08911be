// SPDX-License-Identifier: Apache-2.0

import FolderModel
import ProofModel
import Testing

@testable import ProofKit

@Suite("The store of an app's own strings, and its writes")
struct StringStoreCallTests {
  private let name = SecureStringStore.fileName(of: "acme")

  @Test("a call that changes nothing reads the file once, and writes nothing")
  func quiet() throws {
    let keys = [try stringKey(1), try stringKey(2)]
    let folder = ModelFolder()
    let store = SecureStringStore(folder)
    try store.define("a", as: secret("1"), of: "acme", with: keys)
    func calls(_ body: () throws -> Void) throws -> Int {
      let before = folder.callCount
      try body()
      return folder.callCount - before
    }
    let reading = try calls { _ = try store.string(named: "a", of: "acme", with: keys) }
    let removing = try calls { try store.remove("none", of: "acme", with: keys) }
    #expect(reading == 1 && removing == 1)
    let changing = try calls { try store.remove("a", of: "acme", with: keys) }
    #expect(changing > 3)
  }

  @Test("a string that does not open stays under its key where others are sealed anew")
  func damaged() throws {
    let (old, new) = (try stringKey(1), try stringKey(2))
    let made = ModelFolder()
    for (name, value) in ["a": "1", "b": "2"] {
      try SecureStringStore(made).define(name, as: secret(value), of: "acme", with: [old])
    }
    var file = StringFile()
    for record in try StringFile(parsing: #require(made.contents[name])).records {
      var body = record.sealed.body
      if record.place.name == old.place(of: "a") { body[3] ^= 1 }
      try file.set(
        StringFile.Record(
          place: record.place, sealed: .init(nonce: record.sealed.nonce, body: body)))
    }
    let folder = ModelFolder(holding: [name: file.bytes])
    let store = SecureStringStore(folder)
    for keys in [[new, old], [new]] {
      #expect(text(of: try store.string(named: "b", of: "acme", with: keys)) == "2")
    }
    for keys in [[new, old], [old]] {
      #expect(throws: SecureStringError.stringDamaged(name: "a")) {
        _ = try store.string(named: "a", of: "acme", with: keys)
      }
    }
    #expect(throws: SecureStringError.notThere(name: "b")) {
      _ = try store.string(named: "b", of: "acme", with: [old])
    }
  }
}
