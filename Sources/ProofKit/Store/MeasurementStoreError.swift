// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The reason why the stored measurement could not be read or changed.
///
/// The words give the failure and the next step.
public enum MeasurementStoreError: Error, Sendable, Hashable {
  /// The environment has no `XDG_STATE_HOME` and no `HOME` to tell where state belongs.
  case noPlace
  /// The folder or its lock cannot be used.
  case unusable(path: String, reason: String)
  /// Another store, in this process or another, has the folder.
  case inUse(path: String, processID: Int32?)
  /// A system call failed. The earlier content is still there.
  case failed(path: String, reason: String)
  /// The new state is written, but a power cut may bring the old one back.
  case notDurable(path: String, reason: String)
  /// The file was damaged. It was kept under another name, and the store is empty now.
  case damaged(keptAs: String, byteCount: Int)
  /// The file is intact, but of a version that this build does not know. It was left as it is.
  case tooNew(version: UInt8)
  /// The stored generation is as new as the offered one, or newer.
  case superseded(stored: UInt32, offered: UInt32)
  /// The stored measurement belongs to another installation.
  case otherInstance(stored: InstanceID, offered: InstanceID)
  /// No configuration is stored, so that a token has none to belong to.
  case empty
  /// The result is from a fetch that did not measure, or that failed.
  case noMeasurement(AttestationError)
  /// No token is stored for this hardware.
  case notPaired(HardwareID)
  /// Two tokens are for the same hardware.
  case repeatedHardware(HardwareID)
  /// A token is for other hardware than the caller named.
  case tokenForOther(HardwareID)
  /// The number of tokens exceeds the limit of a store.
  case tooManyTokens(count: Int, allowed: Int)
}

extension MeasurementStoreError: CustomStringConvertible {
  /// The failure, the value and the next step, as text.
  public var description: String {
    switch self {
    case .noPlace:
      "There is no folder for the measurement: neither XDG_STATE_HOME nor HOME is set. Name a "
        + "folder."
    case .unusable(let path, let reason):
      "The folder \(path) cannot hold the measurement: \(reason). It must belong to this user, and "
        + "no other user may write in it."
    case .inUse(let path, let processID):
      "The measurement in \(path) is in use by "
        + (processID.map { "process \($0)" } ?? "another process")
        + ". Wait until it has ended, or keep one store for the whole app."
    case .failed(let path, let reason):
      "The measurement in \(path) could not be read or changed: \(reason). What was stored is still "
        + "there."
    case .notDurable(let path, let reason):
      "The measurement in \(path) was changed, but a power cut may undo that: \(reason). Store it "
        + "again."
    case .damaged(let name, let count):
      "The stored measurement (\(count) bytes) is damaged. It was kept as \(name); fetch a new one "
        + "with \"?measurement\"."
    case .tooNew(let version):
      "The stored measurement is of version \(version); this build knows version 1. It was left as "
        + "it is: update the app, or erase the store."
    case .superseded(let stored, let offered):
      "Generation \(stored) is stored; generation \(offered) would not be newer. Drop it."
    case .otherInstance(let stored, let offered):
      "The stored measurement is instance \(stored)'s, the new one \(offered)'s: the app was "
        + "installed again. Erase the store first."
    case .empty:
      "No measurement configuration is stored that the token could belong to. Store the pair."
    case .noMeasurement(let error):
      "There is no measurement to store. \(error)"
    case .notPaired(let hardware):
      "No token is stored for hardware \(hardware). Go online and fetch one."
    case .repeatedHardware(let hardware):
      "There are two tokens for hardware \(hardware). Keep the newer."
    case .tokenForOther(let hardware):
      "The token is not for hardware \(hardware). Ask the backend for one."
    case .tooManyTokens(let count, let allowed):
      "There are \(count) tokens; a store holds \(allowed). Drop those of hardware no longer used."
    }
  }
}
