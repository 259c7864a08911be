# SPDX-License-Identifier: Apache-2.0

"""Plants one fault after the other in a copy of the package, and expects the tests to notice each.

usage: mutants.py            all of them, about half a minute each
       mutants.py WORD...    those whose name contains one of the words
       mutants.py --places   none: whether each old text still stands in its file

A fault that passes every test shows a missing test. The copy stands below .build/; the tree itself is not touched.
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "Tests" / "Support" / "Runner"))
from checks import Checks  # noqa: E402
from mutation import Broken, Mutant, play  # noqa: E402

from accident_mutants import ACCIDENT_MUTANTS  # noqa: E402
from channel_mutants import CHANNEL_MUTANTS  # noqa: E402
from copy_mutants import COPY_MUTANTS  # noqa: E402
from gate_mutants import RULE_MUTANTS  # noqa: E402
from salt_mutants import SALT_MUTANTS  # noqa: E402
from sealed_mutants import SEALED_MUTANTS  # noqa: E402
from suite_mutants import SUITE_MUTANTS  # noqa: E402
from upcoming_mutants import UPCOMING_MUTANTS  # noqa: E402

COPY = ROOT / ".build" / "mutants" / "tree"
CORE = "Sources/ProofModel/Core"
GATE = "Sources/ProofKit/Gate"
TEXTS = "Sources/ProofGate"
OWN = "Sources/ProofBackend"

# Name, file, what stands there, what is planted, and the suite that must notice.
MUTANTS = [
    ("a secret in ordinary memory", f"{CORE}/SecretBlock.swift",
     "guard let base = unsafe sodium_malloc(count) else {",
     "guard let base = unsafe Optional(UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16)) else {",
     "SecretBytesTests", [("unsafe sodium_free(base)", "unsafe base.deallocate()"),
                          ("let result = unsafe sodium_mprotect_readonly(base)", "let result: Int32 = 0")]),
    ("a secret that stays writable", f"{CORE}/SecretBlock.swift",
     "let result = unsafe sodium_mprotect_readonly(base)", "let result: Int32 = 0", "SecretBytesTests", []),
    ("a secret that goes through an array", f"{CORE}/SecretBytes.swift",
     "try fill(&span)",
     "try fill(&span)\n      kept.withLock { $0 = span.indices.map { span[$0] } }", "SecretBytesTests",
     [("internal import CSodium", "internal import CSodium\ninternal import Synchronization\n\n"
       "private let kept = Mutex<[UInt8]>([])\n")]),
    ("a proof check that believes everything", f"{CORE}/CoreProof.swift",
     'try result.orThrow(opening: "proof", byteCount: Proof.byteCount)', "_ = result", "ProofTests", []),
    ("a receipt check that believes everything", f"{CORE}/CoreReceipt.swift",
     'try result.orThrow(opening: "receipt", byteCount: 32)', "_ = result", "ReceiptTests", []),
    ("a receipt that need not be there", "Sources/ProofModel/Command/Receipt.swift",
     "guard !answer.isHint else { throw .unauthenticated(answer.verdict) }", "", "ReceiptTests", []),
    ("a recall's answer taken for the command's", "Sources/ProofModel/Command/ProvedCommand.swift",
     "guard receipt.verdict != .stale, receipt.verdict != .notExecuted else {", "guard true else {",
     "VerifierTests", []),
    ("a hint that has a command sent twice", "Sources/ProofModel/Command/Advice.swift",
     "question == .recall ? .lookFirst : .sendAgain", ".sendAgain", "ErrorTests", []),
    ("evidence that is not sorted", "Sources/ProofModel/Measurement/EvidenceSet.swift",
     "records.sorted { $0.precedes($1) }", "Array(records)", "EvidenceTests", []),
    ("a platform whose failures are lost", f"{CORE}/CorePlatform.swift", "return -1", "return 0",
     "PlatformFailureTests", []),
    ("integrity proved with the device's measurement", f"{CORE}/CoreMeasurement.swift",
     "secret.withField(kind == .integrity ? Self.integrity : Self.device, body)",
     "secret.withField(kind == .integrity ? Self.device : Self.integrity, body)", "ProofTests", []),
    ("a member of a name that Swift takes for another's", "Sources/ProofKit/Attestor/Text/JSONText.swift",
     "guard members.updateValue(member, forKey: index.string(at: name, in: text)) == nil else {",
     "if members.updateValue(member, forKey: index.string(at: name, in: text)) == .null {", "WireTests", []),
    ("JSON nested to any depth", "Sources/ProofBytes/JSON/JSONParser.swift",
     "guard depth <= limits.depth else { throw fault(.tooDeep) }\n    let node = try open(.array",
     "let node = try open(.array", "WireTests|JSONTests", []),
    ("bytes of any count", f"{CORE}/InlineBytes.swift", "guard bytes.count == count else {",
     "guard bytes.count >= count else {", "FixedBytesTests", []),
    ("a comparison of the first bytes only", f"{CORE}/CoreFixedBytes.swift", "mine.count) == 1", "1) == 1",
     "FixedBytesTests", []),
    ("a session that survives its link", f"{CORE}/CoreVerifier.swift", "unsafe pfc_session_close(&raw)", "",
     "VerifierTests", []),
    ("an SDK that does not look whose configuration it has", "Sources/ProofKit/Prover.swift",
     "try config.check(key)", "", "ProverTests", []),
    ("a thread for each call", "Sources/ProofKit/Core/CorePool.swift",
     "guard state.threadCount < limit else { return false }", "_ = limit", "PoolTests", []),
    ("a cancelled call that stays in line", "Sources/ProofKit/Core/CorePool.swift",
     "call.job.drop() || leaves {", "leaves {", "PoolTests",
     [("if Task.isCancelled, job.drop() || leaves {", "if Task.isCancelled, leaves {")]),
    ("an adapter that blocks a task", "Sources/ProofKit/Blocking.swift", "!CoreTask.isHere", "true", "PoolTests", []),
    ("enrolments that overtake each other", "Sources/ProofKit/Attestor/Enrolment.swift",
     "guard state.isTaken else {", "guard state.isTaken, number < 0 else {", "EnrolmentTests", []),
    ("a proof for a host that the account does not list", f"{GATE}/ProtectedClient.swift",
     "case nil: throw .hostNotListed(host.text)", "case nil: return .open(host.text)", "AttestorGateTests", []),
    ("a lack of memory told as a refusal", "Sources/ProofKit/Attestor/AttestationError.swift",
     "return measurement == nil ? .serviceRefused : .notMeasured", "return .serviceRefused", "AttestorTests", []),
    ("a proof for any host", f"{GATE}/GateGuarding.swift",
     "guard isAllowed(head), admission.covers(head.authority) else {", "guard isAllowed(head) else {",
     "GateProofTests", []),
    ("a proof over plain http", f"{GATE}/GateGuarding.swift", "if head.scheme == .https { return true }",
     "if head.scheme == .https || head.scheme == .http { return true }", "GateProofTests", []),
    ("redirects that are followed", "CSources/CCurl/client.c", "SET(CURLOPT_FOLLOWLOCATION, 0L);",
     "SET(CURLOPT_FOLLOWLOCATION, 1L);", "ProtectedAPITests", []),
    ("a gate's configuration handed out as a lock's", "Sources/ProofKit/Attestor/AttestationExchange.swift",
     "measured: status == .success && request.purpose == .measurement ? measured : nil,",
     "measured: status == .success && request.purpose != .token ? measured : nil,", "GateStoreTests", []),
    ("an admission in the file of the pair that opens locks", f"{GATE}/GateStore.swift",
     '"gate-" + Digest(hashing: Array("\\(account)\\n\\(host.text)".utf8)).description.prefix(16)', '"measurement"',
     "GateStoreTests", []),
    ("keys of a gate without a last look at the environment", f"{GATE}/GateKeyring.swift",
     "guard released == made, keyring.keys.handle", "guard keyring.keys.handle", "GateProofTests", []),
    ("keys of a gate that are held for ever", f"{GATE}/GateState.swift", "now - keyring.measured < ",
     ".zero < ", "GateProofTests", []),
    ("a proof in the log", f"{GATE}/GateGuarding.swift", "(head.authority): proved",
     "(head.authority): proved \\(guarded.values(of: admission.headers.proof))", "GateLogTests", []),
    # Rules 1, 2, 3 and 5 of a gate's own texts.
    ("a right answer that does not use its challenge up", f"{TEXTS}/Challenge/ChallengeDesk.swift",
     "guard isNew else { throw .spent }", "_ = isNew", "ChallengeTests", []),
    ("a wrong answer that does not use its challenge up", f"{TEXTS}/Challenge/ChallengeDesk.swift",
     "guard !spent.contains(key) else { throw .spent }", "_ = key", "ChallengeTests", []),
    ("a person's wrong answer that one node keeps to itself", f"{TEXTS}/Challenge/ChallengeDesk.swift",
     "guard isRight || challenge.kind == .person else {", "guard isRight else {", "ChallengeTests",
     [("if challenge.kind == .person { try useUp(challenge, key, isRight: true) }", "")]),
    ("a wrong answer that costs the store an entry", f"{TEXTS}/Challenge/ChallengeDesk.swift",
     "guard isRight || challenge.kind == .person else {", "guard isRight || !isRight else {", "ChallengeTests", []),
    ("a restart that brings answered challenges back", f"{TEXTS}/Challenge/ChallengeDesk.swift",
     "challenge.start.elementsEqual(start) || !earlier.mayHaveCounted(challenge.expiry)",
     "challenge.expiry > 0 || earlier.mayHaveCounted(0)", "ChallengeTests", []),
    ("a clock set back that brings challenges back", f"{TEXTS}/Challenge/ChallengeDesk.swift",
     ", isOfOneProcess: replay.isOfOneProcess", "", "ChallengeTests",
     [("guard challenge.expiry <= now + (Self.lifeMax + settings.skew) else {", "guard true else {")]),
    ("a challenge for any request", f"{TEXTS}/Challenge/ChallengeDesk.swift",
     "guard key.isTag(binding, of: subject.bytes, GateChallenge.bindingLabel) else { throw .subject }",
     "_ = (binding, key)", "ChallengeTests", []),
    ("a challenge for any client", f"{TEXTS}/Challenge/ChallengeSubject.swift",
     "var bytes: [UInt8] { digest.bytes + client.bytes }", "var bytes: [UInt8] { digest.bytes }",
     "ChallengeTests", []),
    ("a text whose tag is not compared", f"{OWN}/Own/GateOwnKeys.swift",
     "CoreCrypto.equal(self.tag(label, text).span, Array(tag).span)", "!tag.isEmpty",
     "ChallengeTests|ClearanceTests", []),
    ("labels that are left out", f"{OWN}/Own/GateOwnKeys.swift",
     "    message += label.description.utf8\n", "",
     "ConfusionTests", []),
    ("one key for all uses", f"{OWN}/Own/GateOwnKeys.swift",
     "Self.key(use.label, $0, gate)", 'Self.key("pfc1.nonce-key..", $0, gate)', "GateOwnKeysTests", []),
    ("own keys that do not depend on the gate", f"{OWN}/Own/GateOwnKeys.swift",
     "let info = gate.bytes + [secret.number] + more", "let info = [secret.number] + more", "GateOwnKeysTests",
     []),
    ("verdict keys that do not depend on the host", f"{OWN}/Own/GateOwnKeys.swift",
     "gate, Array(host.utf8))", "gate, [])", "VerdictTests", []),
    ("a clearance for any host", f"{TEXTS}/Clearance/ClearanceDesk.swift", "else { throw .host }",
     "else { return clearance }", "ClearanceTests", []),
    ("a clearance of another address", f"{TEXTS}/Clearance/ClearanceDesk.swift",
     "if case .address = client { client.bytes } else { [] }", "[]", "ClearanceTests", []),
    ("an app's clearance without its proof", f"{TEXTS}/Clearance/ClearanceDesk.swift",
     "guard proven == handle else { throw .handle }", "_ = handle", "ClearanceTests", []),
    ("a clearance that is spent twice", f"{TEXTS}/Clearance/ClearanceDesk.swift",
     "guard isNew else { throw .spent }", "_ = isNew", "ClearanceTests", []),
    ("work that stands for every kind", f"{TEXTS}/Clearance/Clearance.swift",
     "guard clearance.solved.contains(ChallengeKinds(demand.kind)) else { return false }", "",
     "ClearanceTests", []),
    ("a second cookie that is not seen", f"{TEXTS}/Clearance/ClearanceField.swift",
     "guard found.count <= 1 else { throw .repeated }", "", "ClearanceTests", []),
    ("a verdict for any request", f"{OWN}/Verdict/GateVerdictReader.swift",
     "CoreCrypto.equal(seen.bytes.span, request.span)", "seen.bytes.count == request.count", "VerdictTests", []),
    ("a verdict for any body", f"{OWN}/Verdict/GateVerdictReader.swift",
     "if let covered = verdict.body, covered != body { throw .body }", "", "VerdictTests", []),
    ("a verdict that counts twice", f"{OWN}/Verdict/GateVerdictReader.swift",
     "guard isNew else { throw .spent }", "_ = isNew", "VerdictTests", []),
    ("a ticket after its end", f"{TEXTS}/Ticket/TicketDesk.swift",
     "guard grant.notAfter >= now else { throw .expired }", "", "TicketTests", []),
    ("a ticket of another mode", f"{TEXTS}/Ticket/TicketDesk.swift",
     "guard grant.mode == mode else { throw .mode }", "", "TicketTests", []),
    ("a verifier without its lock", f"{CORE}/CoreLock.swift", "unsafe pthread_mutex_lock(mutex)",
     "_ = unsafe mutex", "thread:VerifierTests/concurrency",
     [("defer { unsafe pthread_mutex_unlock(mutex) }", "")]),
    ("a clock that the core never sees", f"{CORE}/CorePlatform.swift", "seconds: seconds == nil", "seconds: true",
     "VerifierTests", []),
] + [
    (f"accident: {name}", *rest) for name, *rest in ACCIDENT_MUTANTS
] + [
    (f"salt: {name}", *rest) for name, *rest in SALT_MUTANTS
] + [
    (f"sealed: {name}", *rest) for name, *rest in SEALED_MUTANTS
] + [
    (f"channel: {name}", *rest) for name, *rest in CHANNEL_MUTANTS
] + [
    (f"suite: {name}", *rest) for name, *rest in SUITE_MUTANTS
] + [
    (f"upcoming: {name}", *rest) for name, *rest in UPCOMING_MUTANTS
] + [
    (f"copy: {name}", *rest) for name, *rest in COPY_MUTANTS
] + [(f"rule {rule}: {name}", *rest) for rule, name, *rest in RULE_MUTANTS]


def test(suite):
    """The exit status of one suite, and what it printed. "thread:" before its name asks for the thread sanitizer, and
    "store:" is Tests/Adversary/Store."""
    if suite == "store:":
        result = subprocess.run(["Tests/Adversary/Store/run.sh"], cwd=COPY, text=True, capture_output=True)
        return result.returncode, result.stdout + result.stderr
    command = ["swift", "test", "--disable-xctest", "--filter", suite.removeprefix("thread:")]
    if suite.startswith("thread:"):
        command += ["--sanitize=thread", "--scratch-path", ".build/thread", "-Xswiftc", "-use-ld=lld"]
    result = subprocess.run(command, cwd=COPY, text=True, capture_output=True)
    return result.returncode, result.stdout + result.stderr


def planted(text, edits):
    """The text with each old text replaced, wherever it stands."""
    for name, old, new in edits:
        if old not in text:
            sys.exit(f"mutants: {name} does not contain: {old}")
        text = text.replace(old, new)
    return text


def places(mutants):
    """Checks that no change of a source has left a mutant without its old text."""
    checks = Checks()
    for mutant in mutants:
        texts = [(name, old) for name, old, _ in mutant.edits if old not in (ROOT / name).read_text(encoding="utf-8")]
        checks.that(not texts, f"{mutant.what}: {texts}")
    return checks.close()


class Package:
    """A copy of the package, which stays from run to run for what is built of it. A test is a suite."""

    def __init__(self):
        COPY.mkdir(parents=True, exist_ok=True)
        for name in ("Sources", "CSources", "Tests", "Benchmarks", "docs"):
            shutil.copytree(ROOT / name, COPY / name, dirs_exist_ok=True)
        shutil.copy2(ROOT / "Package.swift", COPY)

    def untouched(self, names):
        plain = [name for name in names if ":" not in name]
        for suites in ["|".join(plain)] * bool(plain) + [name for name in names if ":" in name]:
            status, output = test(suites)
            if status != 0:
                print(output)
                return f"{suites} fail"
        return None

    def notices(self, mutant):
        path = COPY / mutant.edits[0][0]
        original = path.read_text()
        path.write_text(planted(original, mutant.edits))
        try:
            status, output = test(mutant.by)
        finally:
            path.write_text(original)
        noticed = re.findall(r'(?m)✘ Test "(.*?)"|^FAILED (.*)$', output)
        if "error: " in output and not noticed and "unexpected" not in output:
            print(output)
            raise Broken("does not compile")
        if status == 0:
            return False
        silent = "the sanitizer" if "ThreadSanitizer" in output else "the process, which ended"
        return "".join(noticed[0]) if noticed else silent


if __name__ == "__main__":
    mutants = [Mutant(name, suite, [(file, old, new) for old, new in [(old, new), *more]])
               for name, file, old, new, suite, more in MUTANTS]
    if sys.argv[1:] == ["--places"]:
        sys.exit(places(mutants))
    sys.exit(play(Package(), mutants, sys.argv[1:]))
