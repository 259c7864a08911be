// SPDX-License-Identifier: Apache-2.0

package import ProofModel

/// An app as it stands on disk, for tools that register it without running it.
package struct InstalledApp: Sendable {
  /// The app's executable.
  package let executable: String
  /// The folder that is the app's bundle; nil if the app is made without one.
  package let bundle: String?
  /// The app's further folders.
  package let folders: [Probe.Folder]

  package init(executable: String, bundle: String?, folders: [Probe.Folder] = []) {
    self.executable = executable
    self.bundle = bundle
    self.folders = folders
  }

  /// - Parameters:
  ///   - executable: The app's executable.
  ///   - arguments: Folders: one without a name, the bundle; any as `NAME=FOLDER`, a further one.
  /// - Throws: ``/ProofModel/ProofError/outOfRange(field:value:allowed:)`` for two bundles.
  package init(executable: String, folderArguments arguments: [String]) throws(ProofError) {
    var bundle: String?
    var folders: [Probe.Folder] = []
    for argument in arguments {
      // A path with "=" in it is written "./a=b" or from the root: a name has no slash.
      if let end = argument.firstIndex(of: "="), !argument[..<end].contains("/") {
        let path = String(argument[argument.index(after: end)...])
        folders.append(Probe.Folder(String(argument[..<end]), path: path))
      } else if bundle == nil {
        bundle = argument
      } else {
        throw .outOfRange(
          field: "bundle", value: argument,
          allowed: "one folder without a name, others as NAME=FOLDER")
      }
    }
    self.init(executable: executable, bundle: bundle, folders: folders)
  }

  /// The digest of this build, as the running app's own evidence gives it.
  ///
  /// The probe itself computes it, so that there is one way of hashing files.
  ///
  /// - Throws: ``/ProofModel/ProofError/evidenceUnavailable(reason:)``.
  package func digest() throws(ProofError) -> AppDigest { AppDigest(of: try evidence()) }

  /// The records of this build that follow from its files.
  ///
  /// - Throws: ``/ProofModel/ProofError/evidenceUnavailable(reason:)``.
  package func evidence() throws(ProofError) -> EvidenceSet {
    var options = Probe.Options(bundle: bundle, folders: folders, hardens: false)
    options.executable = executable
    let sources = Probe.sources.filter { source in
      source.id.evidenceClass == .app && AppDigest.sources.contains(source.id.number)
    }
    let evidence = try CoreProbe(options).collect(
      sources, policy: .full, byteCountLimit: 1 << 50, pace: Pace())
    guard evidence.records.first?.digest != nil else {
      throw .evidenceUnavailable(reason: "\(executable): cannot be read")
    }
    return evidence
  }
}
