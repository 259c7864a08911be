import ProofModel

/// Who takes part, and what is meant to happen.
struct Story {
  let service: Service
  let backend = Backend()
  let door: Door
  let config: MeasurementConfig
  let phone: Phone
  let token: MeasurementToken
  let openDoor: Command
  let ringBell: Command

  init() throws {
    service = try Service(.production)
    door = try Door(trusting: backend.issuer.publicKey, mode: .production)
    let evidence = try Phone.evidence()
    config = try service.configuration(from: evidence, generation: 2)
    phone = Phone(
      evidence, config, service, instance: .random(), hardware: door.keys.identity.id)
    token = try backend.token(
      for: door.keys.identity, instance: phone.instance,
      service.measurement(of: evidence, under: config), by: service, generation: 2)
    openDoor = try Command(Array("open".utf8) + [0, 0, 0, 1], class: Backend.door)
    ringBell = try Command(Array("ring".utf8) + [0, 0, 0, 1], class: Backend.bell)
  }

  /// From the baseline to the first receipt.
  func firstContact() throws -> [Line] {
    var section = Section("first contact")
    section.add(
      "the service makes a configuration from the app's evidence", must: "production",
      happened: "\(config.mode)",
      "\(config.bytes.count) bytes, \(config.sources.count) sources, key \(config.keyID)")

    let nonce = ProofNonce.random()
    let there = try service.measurement(of: Phone.evidence(), under: config)
      .proof(of: .integrity, for: nonce, with: service.key)
    let here = try phone.prover.integrityMeasurementProof(nonce: nonce)
    section.add(
      "the app measures itself, offline, and proves it", must: "equal to the service's",
      happened: here == there ? "equal to the service's" : "another proof",
      "\(Proof.byteCount) bytes for a nonce of \(ProofNonce.byteCount)")

    section.add(
      "the backend seals a token to the door", must: "may be for the door",
      happened: token.mayBe(for: phone.hardware) ? "may be for the door" : "for another",
      "\(token.bytes.count) bytes, digest \(token.digest)")

    var packets = 0
    let held = try phone.prover.receipt(
      of: door.present(token), to: token, for: phone.hardware)
    packets += door.packets
    section.add(
      "the door opens the token", must: .held, happened: held.verdict,
      "\(door.packets) packets of \(Door.packetSize) bytes; uses left: \(held.usesLeft ?? 0)")

    let challenge = try door.challenge()
    packets += door.packets
    section.add(
      "the door gives a challenge", must: "32 random bytes",
      happened: "\(challenge.bytes.count) random bytes",
      "\(door.packets) packets; counter \(challenge.counter)")

    let proved = try phone.prove(openDoor, answering: challenge)
    let receipt = try proved.receipt(of: door.answer(proved))
    packets += door.packets
    section.add(
      "the app proves \"open\", the door does it and signs a receipt", must: .accepted,
      happened: receipt.verdict,
      "\(door.packets) packets; uses left: \(receipt.usesLeft ?? 0); done: \(door.done.count)")
    section.add(
      "all of it over Bluetooth's smallest packets", must: "33 packets",
      happened: "\(packets) packets")
    return section.lines
  }

  /// What comes after the first time.
  func everyday() throws -> [Line] {
    var section = Section("every day")
    var packets = 0
    let challenge = try door.challenge()
    packets += door.packets
    let proved = try phone.prove(openDoor, answering: challenge)
    let receipt = try proved.receipt(of: door.answer(proved))
    packets += door.packets
    section.add("the door is opened again", must: .accepted, happened: receipt.verdict)
    section.add("without the token", must: "13 packets", happened: "\(packets) packets")

    let recall = proved.recall
    let told = try recall.fate(of: Answer(door.send(recall.message)))
    section.add(
      "after a lost link: was it done?", must: "accepted", happened: "\(told)",
      "told by the door, signed")

    let byDevice = try phone.prove(ringBell, .device, answering: door.challenge())
    section.add(
      "the bell is rung with a device proof", must: .acceptedDeviceOnly,
      happened: try byDevice.receipt(of: door.answer(byDevice)).verdict)

    let lost = try phone.prove(openDoor, answering: door.challenge())
    door.reconnect()
    let never = lost.recall
    section.add(
      "and a command that never arrived?", must: "notExecuted",
      happened: "\(try never.fate(of: Answer(door.send(never.message))))",
      "and it never will be, whoever sends it")
    try door.restart()
    let after = try phone.prove(openDoor, answering: door.challenge())
    section.add(
      "after a power cut, without the token", must: .accepted,
      happened: try after.receipt(of: door.answer(after)).verdict)
    return section.lines
  }

  /// Asks for a challenge and sends a command as somebody else would.
  func verdict(
    _ phone: Phone, _ command: Command, _ kind: ProofKind = .integrity
  ) throws -> Answer {
    try door.answer(phone.prove(command, kind, answering: door.challenge()))
  }
}
