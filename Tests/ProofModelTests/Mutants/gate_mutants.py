"""The rules of requests and gates, each with its defences taken out; as in mutants.py.

Rule, name, file, what stands there, what is planted, the suite that must notice, and more edits of the same file. A
rule is 1 "nothing counts twice", 2 "nothing is left uncovered", 3 "what one gate or audience holds is useless
elsewhere", 6 "no proof leaves for another host", 9 "what opens a gate never touches what opens a lock", or 10 "a
failing app cannot tell".
"""

BACKEND = "Sources/ProofBackend"
VERIFIER = f"{BACKEND}/Request/RequestVerifier.swift"
EVENTS = f"{BACKEND}/Event/EventVerifier.swift"
STANDARD = "Sources/ProofRequest/Standard"
SIGNATURE = "Sources/ProofRequest/Signature"
GATE = "Sources/ProofKit/Gate"
SERVICE = "Sources/ProofService"
RULES = "RequestRulesTests"
FORM = "StandardFormTests"

RULE_MUTANTS = [
    # 1. Nothing counts twice.
    (1, "a used proof that counts again", VERIFIER,
     "guard isNew else { throw .request(.replayed) }", "_ = isNew", RULES, []),
    (1, "a replay store in memory that knows nothing", f"{BACKEND}/Replay/MemoryReplayStore.swift",
     "guard !state.used.contains(key) else { return .success(false) }", "", "ReplayStoreTests", []),
    (1, "a proof forgotten while a slow node takes it", VERIFIER,
     "proof.lastMoment + 2 * UInt64(route.window) + UInt64(settings.skew)", "proof.lastMoment", RULES, []),
    (1, "a clock that goes back", f"{BACKEND}/Request/GateClock.swift",
     "highest.max(UInt64(clamping: clock.now.seconds), ordering: .sequentiallyConsistent).newValue",
     "UInt64(clamping: clock.now.seconds)", RULES, []),
    (1, "an empty store that is taken for complete", f"{BACKEND}/Request/GateClock.swift",
     "floor = memory.gap.map { isOfOneProcess ? .max : $0 + UInt64(window) }",
     "floor = memory.gap.map { _ in isOfOneProcess ? .max : UInt64(window) }", RULES, []),
    (1, "a gap that the next start forgets", f"{BACKEND}/Replay/SQLiteReplayStore.swift",
     "if !isComplete { try file.noteGap(until: max(now, highest)) }",
     "if !isComplete { return max(now, highest) }", "ReplayStoreTests", []),
    (1, "a store that does not see that a backup was put back", f"{BACKEND}/Replay/SQLiteReplayStore.swift",
     "isUntouched = try file.isBoot(boot) && written > 0 && changed <= written + Self.strangeSeconds",
     "isUntouched = try file.isBoot(boot) && written > 0 && changed > 0", "ReplayStoreTests", []),
    (1, "an event token that counts twice", EVENTS,
     "guard try replay.insert(token.replayKey, until: expiry, at: now) else {",
     "guard try replay.insert(token.replayKey, until: expiry, at: now) || true else {", "EventVerifierTests", []),
    (1, "a nonce that is bound to its moment", VERIFIER,
     'let text = Array("\\(proof.keyID)\\n\\(proof.nonce)".utf8)',
     'let text = Array("\\(proof.keyID)\\n\\(proof.nonce)\\n\\(proof.created)".utf8)', RULES, []),
    (1, "a forked app that goes on with its parent's numbers", f"{GATE}/GateState.swift",
     "guard process != self.process else { return false }", "guard process < self.process else { return false }",
     "GateProofTests", []),
    # 2. Nothing that the API reads is left uncovered in silence.
    (2, "a signature of any key", f"{STANDARD}/StandardProof.swift",
     "signature.withBytes { CoreCrypto.equal(expected, $0) }",
     "signature.withBytes { CoreCrypto.equal(expected, $0) || expected.count == 32 }", FORM, []),
    (2, "a required component that need not be covered", f"{STANDARD}/StandardProof.swift",
     "guard required.isSubset(of: found.covered) else { throw .uncoveredComponent }", "_ = required", FORM, []),
    (2, "a field of the route that need not be covered", f"{STANDARD}/StandardProof.swift",
     "guard found.covers(name) else { throw .uncoveredComponent }", "_ = found.covers(name)", FORM, []),
    (2, "a component with a parameter that stands for the one without", f"{SIGNATURE}/MessageSignature.swift",
     "if name != .other, Int(place.after) == item + 1 {", "if name != .other, Int(place.after) > item {", FORM, []),
    (2, "a body without a digest", f"{STANDARD}/StandardForm.swift",
     "guard !Self.needsDigest(head.method), !Self.announcesBody(head) else {",
     "guard !Self.needsDigest(head.method) || Self.announcesBody(head) else {", FORM, []),
    (2, "a field that stands twice", f"{STANDARD}/StandardForm.swift",
     "guard repeated.isDisjoint(with: Self.single) else { throw .repeatedField }", "_ = Self.single", FORM, []),
    (2, "a second line that nothing counts", "Sources/ProofRequest/HTTP/HeaderFields.swift",
     "if known.has(field.component) { repeated.add(field.component) }", "", FORM, []),
    (2, "a target that servers read differently, under a compact proof", VERIFIER,
     "do throws(RequestRefusal) { try route.standard.checkReading(head) } catch {",
     "do throws(RequestRefusal) { if head.method.isEmpty { throw .tooLong } } catch {", RULES, []),
    (2, "another method beside a compact proof", VERIFIER,
     'guard head.fields.count(of: "x-http-method-override") == 0 else {',
     'guard head.fields.count(of: "x-http-method-override") >= 0 else {', RULES, []),
    (2, "another body than the one that was signed", VERIFIER,
     "guard body == proof.body?.digest ?? Digest(hashing: []) else { throw .request(.otherBody) }", "_ = body",
     RULES, []),
    (2, "an account that is left out", VERIFIER,
     "return (.request(digest, account: request.account), digest)", "return (.request(digest, account: nil), digest)",
     RULES, []),
    # 3. The keys and tokens of one gate or audience are useless elsewhere.
    (3, "the token of another installation", VERIFIER,
     "guard keys.handle == handle else { throw .gate(.handle) }", "_ = handle", "RequestVerifierTests", []),
    (3, "one key for the events of all audiences", "Sources/ProofModel/Core/CoreGateSecret.swift",
     "unsafe pfc_gate_event_keys_make(keys, secret, generation, audience)",
     "unsafe pfc_gate_event_keys_make(keys, secret, generation, secret + 0 * Int(audience.pointee))",
     "EventVerifierTests", []),
    (3, "a word on the time that counts at every gate", f"{BACKEND}/Own/GateOwnKeys.swift",
     "let info = gate.bytes + [secret.number] + more", "let info = [secret.number] + more", RULES, []),
    # 6. Hosts. Three more stand in mutants.py: any host, plain http, redirects.
    (6, "the host that a header names", VERIFIER,
     "method: request.method, scheme: route.scheme, authority: route.authority,",
     'method: request.method, scheme: route.scheme, authority: request.fields.first("host") ?? route.authority,',
     RULES, []),
    # 9. Gates and locks. Two more stand in mutants.py: the configuration, and the file.
    (9, "a gate whose renewals use up the lock's generations", f"{SERVICE}/Attestation/Challenges.swift",
     "if let gate {\n      before", "if let gate, known == nil {\n      before", "GateTests", []),
    # 10. A failing app cannot tell.
    (10, "an answer that says that the app failed", VERIFIER,
     'var fields = [(name: "Proof-Time", value: beacons.header(at: now))]',
     'var fields = [(name: "Proof-Time", value: beacons.header(at: now))]\n'
     '    if case .success(let verdict) = result, verdict.facts.isFailed { fields.append(("Proof-Failed", "1")) }',
     RULES, []),
    (10, "an admission that tells a failing app apart", f"{SERVICE}/Token/GateMinter.swift",
     "freshness: UInt8(open.gate.freshness), hosts: open.hosts, events: open.events)",
     "freshness: UInt8(open.gate.freshness), hosts: judgement.isPassed ? open.hosts : [], events: open.events)",
     "GateTests", []),
    (10, "no admission for an app that failed", f"{SERVICE}/Token/GateMinter.swift",
     "guard open.gate.id == work.gate, let (measurement, generation) = measurement else {",
     "guard judgement.isPassed, open.gate.id == work.gate, let (measurement, generation) = measurement else {",
     "GateTests", []),
]
