public import ProofBackend
public import ProofModel

/// The hardware of an account, for a backend on the machine of the store.
///
/// Each query goes to the store, so that `proofctl hardware revoke` takes effect at once. Hardware
/// has only public keys here: the account stays locked, and none of its secrets is read.
public struct AccountHardware: HardwareRegistry {
  private let store: any Store

  /// The hardware of a store's account.
  ///
  /// - Parameter store: The store.
  /// - Throws: ``ServiceError/noAccount``.
  public init(in store: any Store) throws(ServiceError) {
    _ = try Account.identity(in: store)
    self.store = store
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
}
