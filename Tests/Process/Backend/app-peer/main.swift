// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitHTTP
import ProofKitKeys
import ProofKitTPM
import ProofModel

// An app with the SDK in it: `app-peer BUNDLE STORAGE [KEY]` answers each line of its standard input.
//
//   KEY: stored, an installation key in the storage; or a TPM's device or socket. None if it is missing.
//
//   initialise CONFIG        well
//   fetch DOMAIN             status, token, measurement configuration in hexadecimal
//   bound TEXT DOMAIN        the same of a token bound to a text: fresh for each text
//   custom CLAIMS            the same of a custom token; CLAIMS are JSON without blanks
//   sign MESSAGE             the signature under the message key, or -
//   configure                the serial of the newest configuration
//   prove KIND NONCE         a proof under the last configuration
//   keep FOLDER              stores the last configuration, and holds the store
//   digest                   the name of this build, as its own evidence gives it
//   device                   the name of this installation, in base64
//   define NAME TEXT         defines a string of the app's own, in the storage
//   string NAME              the string; NAME is there or not, and the value comes in one word
//   remove NAME              removes it
//   key                      where the installation's key is, and its public half in hexadecimal

/// A line answers in the order of its request, or with `error: …`.
func answer(_ words: [String], _ app: App) throws -> String {
  switch words[0] {
  case "initialise":
    try app.attestor.initializeAndWait(words[1])
    return "well"
  case "fetch":
    let result = app.attestor.fetchTokenAndWait(for: words[1])
    app.config = result.measurementConfig ?? app.config
    let config = result.measurementConfig.map { Hexadecimal.encode($0.bytes) } ?? "-"
    return "\(result.status)|\(result.token)|\(config)|\(result.reason)"
  case "bound":
    app.attestor.setDataHash(of: words[1])
    let result = app.attestor.fetchTokenAndWait(for: words[2])
    return "\(result.status)|\(result.token)|-|\(result.reason)"
  case "custom":
    let result = app.attestor.fetchCustomJWTAndWait(words[1])
    return "\(result.status)|\(result.token)|-|\(result.reason)"
  case "sign": return app.attestor.messageSignature(of: words[1]) ?? "-"
  case "configure":
    let attestor = app.attestor
    if !attestor.hasAsked { try blocking { try await attestor.update() } }
    return "\(attestor.pins.serial)"
  case "prove":
    guard let config = app.config else { throw CocoaError(.featureUnsupported) }
    guard let nonce = Hexadecimal.decode(words[2]) else { throw CocoaError(.formatting) }
    let proof =
      words[1] == "device"
      ? try app.attestor.deviceMeasurementProof(nonce: nonce, config: config.bytes)
      : try app.attestor.integrityMeasurementProof(nonce: nonce, config: config.bytes)
    return proof.description
  case "keep":
    guard let config = app.config else { throw CocoaError(.featureUnsupported) }
    let store = try MeasurementStore(folder: words[1])
    try store.save(StoredMeasurement(config, of: InstanceID([UInt8](repeating: 7, count: 16))))
    app.store = store
    return "well"
  case "device":
    return Base64.encode(try app.attestor.readInstance().bytes)
  case "define":
    let strings = app.strings
    try blocking { try await strings.define(words[1], as: words[2]) }
    return "well"
  case "string":
    let strings = app.strings
    return try blocking { try await strings.string(named: words[1]) }.text
  case "remove":
    let strings = app.strings
    try blocking { try await strings.remove(words[1]) }
    return "well"
  case "key":
    guard let key = app.key else { return "none" }
    let identity = try key.identity()
    return "\(identity.place) \(identity.point) \(identity.note)"
  default:
    let evidence = try app.probe.collectAll()
    return AppDigest(of: evidence).description
  }
}

final class App {
  let probe: Probe
  let attestor: Attestor
  let key: (any InstallationKey)?
  var config: MeasurementConfig?
  var store: MeasurementStore?
  let strings: SecureStrings

  init(_ arguments: [String]) throws {
    probe = try Probe(.init(bundle: arguments[1], storage: arguments[2], hardens: false))
    key = Self.key(arguments)
    attestor = Attestor(
      observer: probe, over: CurlTransport(.init(allowsPlainLoopback: true)), installationKey: key)
    strings = attestor.secureStrings(in: SecureStringStore(folder: arguments[2] + "/strings"))
  }
}

extension App {
  private static func key(_ arguments: [String]) -> (any InstallationKey)? {
    guard arguments.count > 3 else { return nil }
    if arguments[3] == "stored" { return StoredInstallationKey(folder: arguments[2]) }
    return TPMInstallationKey(
      folder: arguments[2],
      options: .init(device: arguments[3], signingTime: .seconds(2), provingTime: .seconds(10)))
  }
}

extension Probe {
  /// The evidence of the app's files.
  fileprivate func collectAll() throws -> EvidenceSet {
    let salt = try Salt([UInt8](1...16))
    let sources = Probe.sources.filter { source in
      source.id.evidenceClass == .device
        || (source.id.evidenceClass == .app && AppDigest.sources.contains(source.id.number))
    }
    let draft = try BaselineDraft(salt: salt, sources: sources)
    let absent = try EvidenceSet(
      sources.map { source in
        try EvidenceRecord(source.id, name: Array("x".utf8), digest: nil)
      })
    return try collect(for: MeasurementConfig(baseline: absent, draft, with: .sdk))
  }
}

let app = try App(CommandLine.arguments)
while let line = readLine() {
  do {
    print(try answer(line.split(separator: " ").map(String.init), app))
  } catch {
    print("error: \(error)")
  }
  fflush(nil)
}
