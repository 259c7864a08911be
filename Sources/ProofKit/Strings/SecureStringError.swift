// SPDX-License-Identifier: Apache-2.0

/// The reason why a string of the app's own could not be read, defined or removed.
public enum SecureStringError: Error, Sendable, Hashable {
  /// The name has no characters, or more than ``SecureStringLimits/nameLength``.
  case badName(characterCount: Int)
  /// The value has no bytes, or more than ``SecureStringLimits/valueByteCount``.
  case badValue(byteCount: Int)
  /// This installation has no string of this name that it can open now.
  case notThere(name: String)
  /// The string does not fit.
  case noRoom(Room)
  /// The bytes of this string were changed. The other strings are intact.
  case stringDamaged(name: String)
  /// The file was damaged. It was kept under another name, and there are no strings now.
  case damaged(keptAs: String, byteCount: Int)
  /// The file is intact, but of a version that this build does not know. It was left as it is.
  case tooNew(version: UInt8)
  /// The folder cannot be used, or another process keeps it locked. The strings are as they were.
  case storageUnusable(reason: String)
  /// The change is written, but a power cut may undo it.
  case notDurable(reason: String)
  /// The service gave no key, or no string of the account.
  case attestation(AttestationError)
  /// The task was cancelled. Nothing was changed.
  case cancelled

  /// The limit that a string would exceed.
  public enum Room: Sendable, Hashable {
    /// ``SecureStringLimits/count``.
    case count
    /// ``SecureStringLimits/totalByteCount``.
    case bytes
    /// The file is full of strings that other keys sealed.
    case file
  }
}

extension SecureStringError: CustomStringConvertible {
  /// The failure, the value and the next step. No text contains a string.
  public var description: String {
    switch self {
    case .badName(let count):
      "The name of the string has \(count) characters; 1 to \(SecureStringLimits.nameLength) are "
        + "allowed."
    case .badValue(let count):
      "The value has \(count) bytes; 1 to \(SecureStringLimits.valueByteCount) are allowed. Use "
        + "remove to remove a string."
    case .notThere(let name):
      "This installation has no string “\(Observation.line(name))”. Define it."
    case .noRoom(.count):
      "There is no room for another string: \(SecureStringLimits.count) are allowed. Remove one."
    case .noRoom(.bytes):
      "There is no room for the string: all of them may have "
        + "\(SecureStringLimits.totalByteCount) bytes together. Remove one."
    case .noRoom(.file):
      "There is no room for the string: the file is full of strings that earlier keys sealed. "
        + "Erase the store, and define the strings that are needed."
    case .stringDamaged(let name):
      "The bytes of the stored string “\(Observation.line(name))” were changed. Define it again."
    case .damaged(let name, let count):
      "The file of the strings (\(count) bytes) is damaged. It was kept as \(name): define the "
        + "strings again."
    case .tooNew(let version):
      "The file of the strings is of version \(version); this build knows version 1. It was left "
        + "as it is: update the app, or erase the store."
    case .storageUnusable(let reason):
      "The strings could not be read or changed: \(reason). Name a folder that belongs to this "
        + "user alone, or try again."
    case .notDurable(let reason):
      "The strings were changed, but a power cut may undo that: \(reason). Define or remove again."
    case .attestation(let error): error.description
    case .cancelled: "The call was cancelled."
    }
  }
}
