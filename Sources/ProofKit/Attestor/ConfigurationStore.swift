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

  /// What the last start left.
  enum Stored {
    /// Nothing, or what was damaged: this is the first start.
    case nothing
    /// That there was a start, and that it got no configuration.
    case start
    case configuration(AccountConfiguration)
  }

  func read(_ initial: InitialConfiguration) throws(AttestorError) -> Stored {
    let path = path(of: initial.account)
    do throws(CoreFile.Failure) {
      try CoreFile.checkFolder(folder)
      guard let bytes = try CoreFile.read(path, limit: AccountConfiguration.byteCountMax) else {
        return .nothing
      }
      if let text = String(validating: bytes, as: UTF8.self) {
        if text == initial.text { return initial.configuration.map(Stored.configuration) ?? .start }
        if let stored = try? initial.update(text, held: nil) { return .configuration(stored) }
        // Of an app that was built with another short form.
        if (try? InitialConfiguration(text))?.configuration == nil && text.hasPrefix("#") {
          return .nothing
        }
      }
      try CoreFile.setAside(path)
    } catch {
      throw .storeUnusable(reason: error.words)
    }
    return .nothing
  }

  /// Replaces what is stored: a configuration, or what the SDK was initialised with.
  func write(_ text: String, of account: String) throws(AttestorError) {
    do throws(CoreFile.Failure) {
      try CoreFile.replace(path(of: account), Array(text.utf8))
    } catch {
      throw .storeUnusable(reason: error.words)
    }
  }
}
