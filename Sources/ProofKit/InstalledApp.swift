package import ProofModel

/// An app as it stands on disk, for tools that register it without running it.
package struct InstalledApp: Sendable {
  /// The app's executable.
  package let executable: String
  /// The folder that is the app's bundle; nil if the app is made without one.
  package let bundle: String?

  package init(executable: String, bundle: String?) {
    self.executable = executable
    self.bundle = bundle
  }

  /// The name of this build: what the running app's own evidence gives.
  ///
  /// The probe itself looks, so that there is one way of hashing files.
  ///
  /// - Throws: ``/ProofModel/ProofError/evidenceUnavailable(reason:)``.
  package func digest() throws(ProofError) -> AppDigest {
    var options = Probe.Options(bundle: bundle, hardens: false)
    options.executable = executable
    let sources = Probe.sources.filter { source in
      source.id.evidenceClass == .app && AppDigest.sources.contains(source.id.number)
    }
    let evidence = try CoreProbe(options).collect(
      sources, policy: .full, byteCountLimit: 1 << 50, pace: Pace())
    guard evidence.records.first?.digest != nil else {
      throw .evidenceUnavailable(reason: "\(executable): cannot be read")
    }
    return AppDigest(of: evidence)
  }
}
