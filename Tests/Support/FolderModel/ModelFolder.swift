// SPDX-License-Identifier: Apache-2.0

package import DurableFiles
import Synchronization

/// A folder in memory that tells what is on the medium from what only the system knows, fails any
/// one call, and loses its power before any one.
package final class ModelFolder: FolderAccess {
  /// A failure to inject.
  package struct Fault: Sendable {
    /// The call, counted from 0, that fails.
    package var failing: (call: Int, code: Int32)?
    /// The call, counted from 0, before which the power goes.
    package var cut: Int?
    /// Bytes that one write takes at most.
    package var writeMax: Int
    /// A defect planted on purpose: files are never synchronized.
    package var forgetsFiles: Bool
    /// A defect planted on purpose: the folder is never synchronized.
    package var forgetsFolder: Bool

    package init(
      failing: (call: Int, code: Int32)? = nil, cut: Int? = nil, writeMax: Int = .max,
      forgetsFiles: Bool = false, forgetsFolder: Bool = false
    ) {
      self.failing = failing
      self.cut = cut
      self.writeMax = writeMax
      self.forgetsFiles = forgetsFiles
      self.forgetsFolder = forgetsFolder
    }
  }

  /// Unsynchronized bytes of a file that a power cut leaves.
  package enum Remains: CaseIterable, Sendable {
    case none, half, all
  }

  private struct File {
    var bytes: [UInt8] = []
    var durable: [UInt8] = []
  }

  private struct State {
    var files: [File] = []
    var names: [String: Int] = [:]
    var durableNames: [String: Int] = [:]
    /// The folder after each change of a name that is not durable yet.
    var pendingNames: [[String: Int]] = []
    var callCount = 0
    var fault = Fault()
  }

  private let state: Mutex<State>
  package let path = "model"

  package init(_ fault: Fault = Fault(), holding contents: [String: [UInt8]] = [:]) {
    var state = State()
    state.fault = fault
    for (name, bytes) in contents.sorted(by: { $0.key < $1.key }) {
      state.names[name] = state.files.count
      state.files.append(File(bytes: bytes, durable: bytes))
    }
    state.durableNames = state.names
    self.state = Mutex(state)
  }

  package var callCount: Int { state.withLock { $0.callCount } }

  /// The files as the system sees them now.
  package var contents: [String: [UInt8]] {
    state.withLock { state in state.names.mapValues { state.files[$0].bytes } }
  }

  /// Puts other files in the place of those that are there, as another program would.
  package func put(_ contents: [String: [UInt8]]) {
    state.withLock { state in
      state.names = [:]
      for (name, bytes) in contents.sorted(by: { $0.key < $1.key }) {
        state.names[name] = state.files.count
        state.files.append(File(bytes: bytes, durable: bytes))
      }
      state.durableNames = state.names
    }
  }

  /// The calls from now on go right.
  package func mend() { state.withLock { $0.fault = Fault() } }

  /// Everything that may be there when the power comes back.
  package func afterPowerCut() -> [[String: [UInt8]]] {
    state.withLock { state in
      ([state.durableNames] + state.pendingNames).flatMap { names in
        Remains.allCases.map { remains in
          names.mapValues { number in
            let file = state.files[number]
            if file.durable == file.bytes { return file.bytes }
            switch remains {
            case .none: return file.durable
            case .half:
              // Bytes on the medium before stay there when a file grows.
              let kept = file.bytes.starts(with: file.durable) ? file.durable.count : 0
              return Array(file.bytes.prefix(kept + (file.bytes.count - kept) / 2))
            case .all: return file.bytes
            }
          }
        }
      }
    }
  }

  private func call<Value: Sendable>(
    _ operation: String, _ body: (inout State) -> Result<Value, FileFailure>
  ) throws(FileFailure) -> Value {
    let result = state.withLock { state -> Result<Value, FileFailure> in
      let number = state.callCount
      state.callCount += 1
      if let cut = state.fault.cut, number >= cut {
        return .failure(FileFailure(operation, "model", code: 5))
      }
      if let failing = state.fault.failing, failing.call == number {
        return .failure(FileFailure(operation, "model", code: failing.code))
      }
      return body(&state)
    }
    return try result.get()
  }

  package func read(_ name: String, limit: Int) throws(FileFailure) -> [UInt8]? {
    try read(name, from: 0, limit: limit)
  }

  package func read(
    _ name: String, from offset: Int, limit: Int
  ) throws(FileFailure) -> [UInt8]? {
    try call("read") { state in
      .success(
        state.names[name].map {
          Array(state.files[$0].bytes.dropFirst(offset).prefix(limit + 1))
        })
    }
  }

  package func create(_ name: String) throws(FileFailure) -> OpenFile {
    try call("create") { state in
      if state.names[name] != nil { return .failure(FileFailure("create", name, code: 17)) }
      state.names[name] = state.files.count
      state.files.append(File())
      state.pendingNames.append(state.names)
      return .success(OpenFile(Int32(state.files.count - 1)))
    }
  }

  package func openAtEnd(_ name: String) throws(FileFailure) -> OpenFile {
    if let number = state.withLock({ $0.names[name] }) { return OpenFile(Int32(number)) }
    return try create(name)
  }

  package func write(_ bytes: ArraySlice<UInt8>, to file: OpenFile) throws(FileFailure) -> Int {
    try call("write") { state in
      let written = bytes.prefix(state.fault.writeMax)
      state.files[Int(file.number)].bytes += written
      return .success(written.count)
    }
  }

  package func synchronize(_ file: OpenFile) throws(FileFailure) {
    try call("synchronize") { state -> Result<Void, FileFailure> in
      if !state.fault.forgetsFiles {
        state.files[Int(file.number)].durable = state.files[Int(file.number)].bytes
      }
      return .success(())
    }
  }

  package func close(_ file: OpenFile) {}

  package func rename(_ name: String, to other: String) throws(FileFailure) {
    try call("rename") { state -> Result<Void, FileFailure> in
      guard let number = state.names.removeValue(forKey: name) else {
        return .failure(FileFailure("rename", name, code: 2))
      }
      state.names[other] = number
      state.pendingNames.append(state.names)
      return .success(())
    }
  }

  package func remove(_ name: String) throws(FileFailure) {
    try call("remove") { state -> Result<Void, FileFailure> in
      if state.names.removeValue(forKey: name) != nil { state.pendingNames.append(state.names) }
      return .success(())
    }
  }

  package func exists(_ name: String) throws(FileFailure) -> Bool {
    try call("look at") { state in .success(state.names[name] != nil) }
  }

  package func synchronizeFolder() throws(FileFailure) {
    try call("synchronize") { state -> Result<Void, FileFailure> in
      if !state.fault.forgetsFolder {
        state.durableNames = state.names
        state.pendingNames = []
      }
      return .success(())
    }
  }
}
