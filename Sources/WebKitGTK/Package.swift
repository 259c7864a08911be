// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, so that an app without WebKitGTK builds without it.
let package = Package(
  name: "ProofKitWebKitGTK",
  products: [.library(name: "ProofKitWebKitGTK", targets: ["ProofKitWebKitGTK"])],
  dependencies: [.package(name: "ProofKit", path: "../..")],
  targets: [
    .systemLibrary(
      name: "CWebKitGTK", path: "CWebKitGTK", pkgConfig: "webkit2gtk-4.1",
      providers: [.apt(["libwebkit2gtk-4.1-dev"])]),
    .target(
      name: "CWebWindow", dependencies: ["CWebKitGTK"], path: "CWebWindow",
      cSettings: [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]),
    .target(
      name: "ProofKitWebKitGTK",
      dependencies: ["CWebWindow", .product(name: "ProofKit", package: "ProofKit")],
      path: "ProofKitWebKitGTK",
      swiftSettings: [
        .enableUpcomingFeature("InternalImportsByDefault"), .strictMemorySafety(),
        .treatAllWarnings(as: .error),
      ]),
    .executableTarget(
      name: "bridge-sample",
      dependencies: ["ProofKitWebKitGTK", .product(name: "ProofKitHTTP", package: "ProofKit")],
      path: "bridge-sample", swiftSettings: [.treatAllWarnings(as: .error)]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
