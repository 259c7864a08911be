// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import ProofBackend
import ProofGate

/// The options of the gate's page.
struct PageOptions: Sendable {
  let origins: [String]
  let file: String?
  let address: String?

  /// The most bytes of an operator's page.
  private static let byteMax = 1 << 20

  static let known = [
    Option(
      "--page-origin", "ORIGIN,…", help: "pages that may frame the gate's page and get its result"),
    Option("--page-file", "FILE", help: "your own page in the place of the gate's: docs/PAGE.md"),
    Option("--page-url", "URL", help: "the address of your own page, over https"),
  ]

  init(_ options: Options) throws(UsageError) {
    origins = options.list("--page-origin")
    for origin in origins where !PageSettings.isOrigin(origin) {
      throw UsageError(
        "--page-origin is \(origin): write it as browsers do, such as https://app.example.com")
    }
    file = options.value("--page-file")
    address = options.value("--page-url")
    guard file == nil || address == nil else {
      throw UsageError("--page-file and --page-url are two pages: give one")
    }
    if let address, PageSettings.origin(ofAddress: address) == nil {
      throw UsageError("--page-url is \(address): it takes an address that begins with https://")
    }
  }

  /// The settings of the page, with the operator's file as it is now.
  func settings() throws -> PageSettings {
    var settings = PageSettings()
    settings.origins = origins
    if let address { settings.custom = .address(address) }
    if let file {
      guard let bytes = try SmallFile.read(file, limit: Self.byteMax) else {
        throw GateFailure("there is no file \(file): write your page into it (docs/PAGE.md)")
      }
      settings.custom = .document(bytes)
    }
    return settings
  }
}
