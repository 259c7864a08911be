import ProofModel

/// Keeps the newest configuration of each account in a folder of the app, across restarts.
///
/// A file is replaced in one step, is open to this user alone, and is checked against the account's
/// fingerprint when it is read. One that does not check out is kept aside, under a name that ends in
/// `.damaged`, and the app goes on as if there were none.
public struct ConfigurationStore: Sendable, Hashable {
  /// The folder.
  public let folder: String

  /// Describes a store. The folder must be there.
  public init(folder: String) { self.folder = folder }

  /// The file of an account: named by a digest, so that no two accounts share one.
  func path(of account: String) -> String {
    let name = Digest(hashing: Array(account.utf8)).description.prefix(16)
    return folder + "/configuration-" + name
  }

  /// The stored configuration, or nil if there is none or it was damaged.
  func read(_ initial: InitialConfiguration) throws(AttestorError) -> AccountConfiguration? {
    let path = path(of: initial.account)
    let bytes: [UInt8]?
    do throws(CoreFile.Failure) {
      try CoreFile.checkFolder(folder)
      bytes = try CoreFile.read(path, limit: AccountConfiguration.byteCountMax)
    } catch {
      throw .storeUnusable(reason: error.words)
    }
    guard let bytes else { return nil }
    if let text = String(validating: bytes, as: UTF8.self),
      let stored = try? initial.update(text, held: nil)
    {
      // One that is older than the app's own is not damaged, only useless.
      return stored.serial < initial.configuration?.serial ?? 0 ? nil : stored
    }
    do throws(CoreFile.Failure) {
      try CoreFile.setAside(path)
    } catch {
      throw .storeUnusable(reason: error.words)
    }
    return nil
  }

  /// Replaces the stored configuration.
  func write(_ configuration: AccountConfiguration) throws(AttestorError) {
    do throws(CoreFile.Failure) {
      try CoreFile.replace(path(of: configuration.account), Array(configuration.text.utf8))
    } catch {
      throw .storeUnusable(reason: error.words)
    }
  }
}
