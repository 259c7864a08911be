// swift-tools-version: 6.2

import PackageDescription

// Every warning is an error, in both languages, and Swift checks each unsafe expression. None of
// these is an unsafe flag, so the package can be a dependency of any other. An import is for the
// file's own use unless it says `public`.
let strictSwift: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]
let strictC: [CSetting] = [
  .enableWarning("all"),
  .enableWarning("extra"),
  .enableWarning("pedantic"),
  .enableWarning("conversion"),
  .enableWarning("shadow"),
  .treatAllWarnings(as: .error),
]

// Targets stand in the order in which data flows: the core, the values, the app's SDK, then those
// who show, measure and test them.
let package = Package(
  name: "ProofKit",
  products: [
    .library(name: "ProofModel", targets: ["ProofModel"]),
    .library(name: "ProofKit", targets: ["ProofKit"]),
    .library(name: "ProofJOSE", targets: ["ProofJOSE"]),
    .executable(name: "proof-hardware", targets: ["proof-hardware"]),
    .executable(name: "proof-demo", targets: ["proof-demo"]),
    .executable(name: "proof-bench", targets: ["proof-bench"]),
  ],
  targets: [
    .systemLibrary(
      name: "CSodium", path: "CSources/CSodium", pkgConfig: "libsodium",
      providers: [.apt(["libsodium-dev"])]),
    .target(
      name: "ProofCore", dependencies: ["CSodium"], path: "CSources/ProofCore",
      cSettings: strictC),
    .target(
      name: "ProofKey", dependencies: ["ProofCore"], path: "CSources/ProofKey",
      exclude: ["generate"], cSettings: strictC),

    .target(
      name: "ProofDevice", dependencies: ["ProofCore"], path: "CSources/ProofDevice",
      cSettings: strictC),
    .executableTarget(
      name: "proof-hardware", dependencies: ["ProofDevice", "ProofCore"],
      path: "CSources/proof-hardware", cSettings: strictC),

    .target(
      name: "ProofProbe", dependencies: ["ProofCore", "CSodium"], path: "CSources/ProofProbe",
      cSettings: strictC),

    .target(
      name: "ProofModel", dependencies: ["ProofCore", "CSodium"], swiftSettings: strictSwift),
    .target(
      name: "ProofKit", dependencies: ["ProofModel", "ProofKey", "ProofProbe"],
      swiftSettings: strictSwift),

    .target(name: "ProofLink", dependencies: ["ProofModel"], swiftSettings: strictSwift),

    .systemLibrary(
      name: "LibCrypto", path: "CSources/CCrypto/libcrypto", pkgConfig: "libcrypto",
      providers: [.apt(["libssl-dev"])]),
    .target(
      name: "CCrypto", dependencies: ["LibCrypto"], path: "CSources/CCrypto",
      exclude: ["libcrypto"], cSettings: strictC),
    .target(name: "ProofJOSE", dependencies: ["CCrypto"], swiftSettings: strictSwift),

    .target(name: "Console", swiftSettings: strictSwift),
    .executableTarget(
      name: "proof-demo", dependencies: ["ProofKit", "ProofModel", "Console"],
      swiftSettings: strictSwift),
    .target(
      name: "AllocationCounter", path: "Benchmarks/AllocationCounter", cSettings: strictC),
    .executableTarget(
      name: "proof-bench",
      dependencies: ["ProofModel", "ProofCore", "CSodium", "Console", "AllocationCounter"],
      path: "Benchmarks/proof-bench", swiftSettings: strictSwift),

    .testTarget(name: "ConsoleTests", dependencies: ["Console"], swiftSettings: strictSwift),
    .target(
      name: "MemoryWitness", path: "Tests/ProofModelTests/MemoryWitness", cSettings: strictC),
    .testTarget(
      name: "ProofModelTests",
      dependencies: ["ProofKit", "ProofModel", "ProofCore", "MemoryWitness"],
      exclude: ["MemoryWitness", "Mutants"], swiftSettings: strictSwift),
    .testTarget(
      name: "ProofKitTests", dependencies: ["ProofKit", "ProofModel"], swiftSettings: strictSwift),
    .executableTarget(
      name: "jose-peer", dependencies: ["ProofJOSE"], path: "Tests/JOSE/jose-peer",
      swiftSettings: strictSwift),
    .target(
      name: "JOSEWitness", dependencies: ["LibCrypto"],
      path: "Tests/ProofJOSETests/JOSEWitness", cSettings: strictC),
    .testTarget(
      name: "ProofJOSETests", dependencies: ["ProofJOSE", "JOSEWitness"],
      exclude: ["Vectors", "JOSEWitness"], swiftSettings: strictSwift),
    .target(
      name: "HardwareBench", dependencies: ["ProofDevice", "ProofCore"],
      path: "Tests/ProofLinkTests/HardwareBench", cSettings: strictC),
    .testTarget(
      name: "ProofLinkTests", dependencies: ["ProofLink", "ProofModel", "HardwareBench"],
      exclude: ["HardwareBench"], swiftSettings: strictSwift),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
