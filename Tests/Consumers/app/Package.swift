// swift-tools-version: 6.2

import PackageDescription

// Apps as their developers write them, outside the package: `door` has everything, `offline` the
// product ProofKit alone. `consumers.py` builds and runs both.
let package = Package(
  name: "Door",
  dependencies: [.package(name: "ProofKit", path: "../../..")],
  targets: [
    .executableTarget(
      name: "door",
      dependencies: [
        .product(name: "ProofKit", package: "ProofKit"),
        .product(name: "ProofKitHTTP", package: "ProofKit"),
        .product(name: "ProofModel", package: "ProofKit"),
      ],
      path: "door",
      swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)]),
    .executableTarget(
      name: "offline",
      dependencies: [.product(name: "ProofKit", package: "ProofKit")],
      path: "offline",
      swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)]),
  ],
  swiftLanguageModes: [.v6]
)
