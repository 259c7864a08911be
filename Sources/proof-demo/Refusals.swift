import ProofModel

extension Story {
  /// The app is not the one that was measured.
  func tamperedApps() throws -> [Line] {
    var section = Section("changed apps")
    let patched = phone.seeing(try Phone.evidence(changing: "libdoor.so"), service)
    let answer = try verdict(patched, openDoor)
    section.add(
      "a library with one byte changed opens the door", must: .integrityDiffers,
      happened: answer.verdict,
      "attempts left: \(answer.detail); \(answer.verdict.advice(to: .command))")
    section.add(
      "what changed, told by the app from its configuration", must: "app 1",
      happened: try patched.prover.difference().changes.map(\.source.description).joined(),
      try patched.prover.difference().description)
    section.add(
      "the same app rings the bell, which its device may", must: .acceptedDeviceOnly,
      happened: try verdict(patched, ringBell, .device).verdict)
    section.add(
      "the same app opens the door with a device proof", must: .notPermitted,
      happened: try verdict(patched, openDoor, .device).verdict)

    let debugged = phone.seeing(try Phone.evidence(debugger: true), service)
    let second = try verdict(debugged, openDoor)
    section.add(
      "under a debugger", must: .integrityDiffers, happened: second.verdict,
      "attempts left: \(second.detail)")

    let copied = phone.seeing(try Phone.evidence(machine: "phone 2"), service)
    section.add(
      "everything copied to another phone", must: .deviceDiffers,
      happened: try verdict(copied, openDoor).verdict, "no attempt is counted against the owner")
    section.add(
      "a class of commands that the token does not permit", must: .notPermitted,
      happened: try verdict(
        phone, Command(Array("reset".utf8), class: CommandClass(9))
      ).verdict)
    return section.lines
  }

  /// Somebody listens to the link, or speaks on it.
  func hostileLinks() throws -> [Line] {
    var section = Section("hostile links")
    let proved = try phone.prove(openDoor, answering: door.challenge())
    section.add(
      "the owner opens the door; a thief records it", must: .accepted,
      happened: try door.answer(proved).verdict)
    section.add(
      "the recording, played at once", must: .stale, happened: try door.answer(proved).verdict)
    _ = try door.challenge()
    section.add(
      "the recording, under the next challenge", must: .stale,
      happened: try door.answer(proved).verdict)
    try door.restart()
    section.add(
      "the recording, after a power cut", must: .stale, happened: try door.answer(proved).verdict)

    let bell = try phone.prove(ringBell, answering: door.challenge())
    var bytes = bell.message.bytes
    bytes.replaceSubrange((bytes.count - 8)..., with: openDoor.bytes)
    bytes[1] = openDoor.commandClass.rawValue
    section.add(
      "\"ring\" made into \"open\" on the way", must: .deviceDiffers,
      happened: try Answer(door.send(Message(.command, bytes))).verdict)

    let forged = Answer(
      .accepted, detail: 9, counter: bell.counter, to: bell.nonce, with: nil)
    section.add("a stranger answers \"accepted\"", mustThrow: "unauthenticated") {
      () throws(ProofError) in _ = try bell.receipt(of: forged)
    }

    door.reconnect()
    let refused = try (0..<20).map { _ in try door.answer(strangersCommand()).verdict }
    section.add(
      "a stranger with keys of his own, twenty times", must: "16 device differs, then busy",
      happened: refused.prefix(16).allSatisfy { $0 == .deviceDiffers }
        && refused.dropFirst(16).allSatisfy { $0 == .busy }
        ? "16 device differs, then busy" : "\(refused)")
    for number in 0..<10_000 { door.receiveNoise(noise(number)) }
    door.reconnect()
    let owner = try phone.prove(openDoor, answering: door.challenge())
    let receipt = try owner.receipt(of: door.answer(owner))
    section.add(
      "the owner, after that and 10,000 packets of noise", must: .accepted,
      happened: receipt.verdict, "one attempt was left before, so none was spent")
    return section.lines
  }

  /// Tokens that are not what they should be, each on a link of its own.
  func wrongTokens() throws -> [Line] {
    var section = Section("wrong tokens")
    let identity = door.keys.identity
    let measurement = try service.measurement(of: Phone.evidence(), under: config)
    func present(_ token: MeasurementToken) throws -> Verdict {
      door.reconnect()
      return try door.present(token).verdict
    }
    let forged = try backend.token(
      for: identity, instance: phone.instance, measurement, by: service, generation: 9,
      signedBy: .random())
    section.add(
      "forged by somebody who knows every public key", must: .notSigned,
      happened: try present(forged))
    var bytes = token.bytes
    bytes[150] ^= 1
    section.add(
      "one bit changed", must: .notForMe, happened: try present(MeasurementToken(bytes)))
    let neighbour = try Door(trusting: backend.issuer.publicKey, mode: .production)
    let theirs = try backend.token(
      for: neighbour.keys.identity, instance: phone.instance, measurement, by: service,
      generation: 9)
    section.add("for the neighbour's door", must: .notForMe, happened: try present(theirs))
    let bench = try backend.token(
      for: identity, instance: phone.instance, measurement, by: service, generation: 9,
      mode: .development)
    section.add(
      "of development mode, at production hardware", must: .wrongMode, happened: try present(bench))
    let older = try backend.token(
      for: identity, instance: phone.instance, measurement, by: service, generation: 1)
    section.add("of an older generation", must: .superseded, happened: try present(older))
    section.add("the right one, again", must: .held, happened: try present(token))
    return section.lines
  }

  /// What the app's own library refuses, with words that help.
  func damagedInputs() throws -> [Line] {
    var section = Section("damaged inputs")
    var bytes = config.bytes
    bytes[bytes.count / 2] ^= 1
    section.add("a configuration with one bit changed on disk", mustThrow: "configDamaged") {
      () throws(ProofError) in _ = try MeasurementConfig(bytes)
    }
    section.add("a nonce of 12 bytes", mustThrow: "wrongLength") {
      () throws(ProofError) in
      _ = try phone.prover.integrityMeasurementProof(nonce: [UInt8](repeating: 1, count: 12))
    }
    let updated = try Phone(
      Phone.evidence(), config, Service(.production), instance: phone.instance,
      hardware: phone.hardware)
    section.add("a configuration from before an update of the SDK", mustThrow: "configForOtherKey")
    {
      () throws(ProofError) in
      _ = try updated.prover.integrityMeasurementProof(nonce: .random())
    }
    return section.lines
  }

  /// Time and revocation, without a clock and without a network.
  func endings() throws -> [Line] {
    var section = Section("endings")
    let id = door.keys.identity.id
    door.reconnect()
    let late = try Order(.epoch(nil), issued: Backend.now + 86_401).signed(by: backend.issuer)
    section.add(
      "any app carries a signed \"it is tomorrow\"", must: .orderDone,
      happened: try Answer(door.send(late.message)).verdict)
    section.add(
      "the token's time is over", must: .expired, happened: try verdict(phone, openDoor).verdict)
    let revoke = try Order(.revoke(phone.instance, through: nil, id), issued: Backend.now + 86_402)
      .signed(by: backend.issuer)
    section.add(
      "any app carries a signed revocation", must: .orderDone,
      happened: try Answer(door.send(revoke.message)).verdict)
    section.add(
      "the revoked app opens the door", must: .revoked,
      happened: try verdict(phone, openDoor).verdict)
    let unsigned = try Order(.floor(id), issued: Backend.now).signed(by: .random())
    section.add(
      "an order that a stranger signed", must: .notSigned,
      happened: try Answer(door.send(unsigned.message)).verdict)
    return section.lines
  }

  /// A command in the owner's name, proved with keys that somebody made up.
  private func strangersCommand() throws -> ProvedCommand {
    let secrets = try HardwareSecrets(
      integrityKey: .random(count: 16), integrity: .random(count: 32),
      deviceKey: .random(count: 16), device: .random(count: 32), form: .diversified)
    return ProvedCommand(
      openDoor, proving: .integrity, from: phone.instance, to: phone.hardware,
      answering: try door.challenge(), with: secrets)
  }

  /// Noise that looks a little like fragments: it differs with its number.
  private func noise(_ number: Int) -> [UInt8] {
    (0..<20).map { UInt8(truncatingIfNeeded: (number &* 31 &+ $0 &* 17) ^ (number >> 3)) }
  }
}
