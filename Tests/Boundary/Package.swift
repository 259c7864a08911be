// swift-tools-version: 6.2

import PackageDescription

// A client of ProofModel from outside the package: it sees what is public and nothing else, and it
// shows that the package can be a dependency. `check` builds and runs it.
let package = Package(
  name: "Boundary",
  dependencies: [.package(name: "ProofKit", path: "../..")],
  targets: [
    .executableTarget(
      name: "boundary-probe",
      dependencies: [
        .product(name: "ProofModel", package: "ProofKit"),
        .product(name: "ProofKit", package: "ProofKit"),
      ],
      path: "Probe",
      swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)])
  ],
  swiftLanguageModes: [.v6]
)
