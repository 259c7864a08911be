// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Clients from outside the package, as other people write them: they see what is public and nothing
// else, and show that the package can be a dependency.
let package = Package(
  name: "Clients",
  dependencies: [.package(name: "ProofKit", path: "../..")],
  targets: [
    // Uses every public name; Boundary/run.sh builds and runs it.
    client("boundary-probe", at: "Boundary/Probe", of: ["ProofModel", "ProofKit"]),
    // Apps: `door` has everything, `offline` the product ProofKit alone. Consumers/consumers.py builds
    // and runs both.
    client("door", at: "Consumers/app/door", of: ["ProofKit", "ProofKitHTTP", "ProofModel"]),
    client("offline", at: "Consumers/app/offline", of: ["ProofKit"]),
  ],
  swiftLanguageModes: [.v6]
)

func client(_ name: String, at path: String, of products: [String]) -> Target {
  .executableTarget(
    name: name, dependencies: products.map { .product(name: $0, package: "ProofKit") }, path: path,
    swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)])
}
