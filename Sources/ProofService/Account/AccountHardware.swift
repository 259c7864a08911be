// SPDX-License-Identifier: Apache-2.0

public import ProofBackend
public import ProofModel

/// The hardware of an account, for a backend on the machine of the store.
///
/// Each query goes to the store, so that `proofctl hardware revoke` takes effect at once. The account
/// stays locked: the factory key opens the factory secrets of hardware, and nothing else.
public struct AccountHardware: HardwareRegistry {
  private let store: any Store
  private let factoryKey: FactoryKey?

  /// The hardware of a store's account.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - factoryKey: Opens factory secrets; nil if no token is issued for hardware that has one.
  /// - Throws: ``ServiceError/noAccount``.
  public init(in store: any Store, factoryKey: FactoryKey? = nil) throws(ServiceError) {
    _ = try Account.identity(in: store)
    self.store = store
    self.factoryKey = factoryKey
  }

  /// Looks up hardware.
  public func hardware(
    _ id: HardwareID
  ) throws(BackendError) -> RegisteredHardware? {
    do throws(ServiceError) {
      return try store.one(id.description, RegisteredHardware.self)
    } catch {
      let place = "hardware \(id) of the account"
      if case .damaged = error { throw .damaged(path: place, reason: "it does not parse") }
      throw .storage(path: place, reason: error.description)
    }
  }

  /// Opens the factory secret of hardware; nil without a factory key.
  public func factorySecret(
    of hardware: RegisteredHardware
  ) throws(BackendError) -> FactorySecret? {
    guard let factoryKey, let sealed = hardware.sealedFactorySecret else { return nil }
    return try factoryKey.secret(sealed, of: hardware.identity.id)
  }
}

extension FactoryKey {
  /// Opens a factory secret for a token that is issued.
  package func secret(
    _ sealed: [UInt8], of hardware: HardwareID
  ) throws(BackendError) -> FactorySecret {
    do { return try open(sealed, of: hardware) } catch {
      throw .damaged(
        path: "the factory secret of \(hardware)",
        reason: "it was changed, or the factory key is not the account's")
    }
  }
}
