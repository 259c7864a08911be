// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE

/// The reason why the service or an operator's command refused.
public enum ServiceError: Error, Sendable, Hashable {
  /// The store refused.
  case store(StoreError)
  /// A key or token was refused.
  case jose(JOSEError)
  /// The store holds no account yet.
  case noAccount
  /// The store holds an account already.
  case accountThere(String)
  /// The passphrase is not the account's.
  case wrongPassphrase
  /// The key file is not the account's.
  case wrongKeyFile
  /// The account is locked in another way than the caller tried.
  case otherLock(expected: String)
  /// A stored value does not open or parse.
  case damaged(String)
  /// The account has no entry of this name.
  case unknown(String, name: String)
  /// The account already has an entry of this name.
  case alreadyThere(String, name: String)
  /// A value is outside the allowed ones.
  case invalid(String, value: String, allowed: String)
  /// Another entry still needs the one to be removed.
  case inUse(String, by: String)
  /// A step of a rotation that would let good tokens be refused, or that has no earlier step to
  /// follow.
  case outOfTurn(String, instead: String)
  /// The operator did not confirm.
  case notConfirmed
  /// The system does not have the memory that the passphrase needs.
  case noMemory
}

extension ServiceError: CustomStringConvertible {
  /// The failure, the value and the next step, as text.
  public var description: String {
    switch self {
    case .store(let error): error.description
    case .jose(let error): error.description
    case .noAccount:
      "The store holds no account. Make one with “proofctl init”."
    case .accountThere(let name):
      "The store holds the account “\(name)” already. One store holds one account: choose another."
    case .wrongPassphrase:
      "The passphrase is not this account's. Try again; nothing was changed."
    case .wrongKeyFile:
      "The key file is not this account's. Look for the one that was named at “proofctl init”."
    case .otherLock(let expected):
      "This account is locked by \(expected). Unlock it that way."
    case .damaged(let what):
      "The store's \(what) does not open or parse. Restore a backup of the store."
    case .unknown(let noun, let name):
      "The account has no \(noun) “\(name)”. \(Self.advice(noun))"
    case .alreadyThere(let noun, let name):
      "The \(noun) “\(name)” exists already. "
        + (noun == API.noun
          ? "The verb “api change” changes it." : "Choose another name, or remove it first.")
    case .invalid(let field, let value, let allowed):
      "The \(field) is “\(value)”; allowed: \(allowed)."
    case .inUse(let what, let user):
      "The \(what) is still used by \(user). Change that first."
    case .outOfTurn(let why, let instead):
      "Nothing was changed: \(why). \(instead)"
    case .notConfirmed:
      "Nothing was changed: this needs to be confirmed with YES."
    case .noMemory:
      "The system has not the memory that the passphrase needs (64 MiB). Free some."
    }
  }
}

extension ServiceError {
  /// The command that lists the names of a noun.
  private static func advice(_ noun: String) -> String {
    switch noun {
    case "setting": "“proofctl policy show” lists the settings."
    case "verb", "argument": "docs/MANAGEMENT.md lists the verbs and their arguments."
    default: "The verb “list” shows the names that exist."
    }
  }

  /// Runs a body that throws JOSE errors, and throws them as this type.
  static func ofJOSE<R: ~Copyable>(
    _ body: () throws(JOSEError) -> R
  ) throws(ServiceError) -> R {
    do { return try body() } catch { throw .jose(error) }
  }

  /// Runs a body that throws store errors, and throws them as this type.
  static func ofStore<R>(_ body: () throws(StoreError) -> R) throws(ServiceError) -> R {
    do { return try body() } catch { throw .store(error) }
  }
}
