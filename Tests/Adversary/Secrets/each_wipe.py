# SPDX-License-Identifier: Apache-2.0

"""Takes out one wipe of the core or of the hardware at a time; the wipe test must notice. An untested wipe proves
nothing.

Wipes that the test cannot notice stand in UNSEEN with the reason, and every other wipe must be noticed; a wipe in
UNSEEN that is noticed is a failure.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = ROOT / "Tests" / "Adversary" / "Secrets"
CORE = ROOT / "CSources" / "ProofCore"
DEVICE = ROOT / "CSources" / "ProofDevice"
BUILD = ROOT / ".build" / "secrets" / "each"
PARTS = ("needle", "wipe", "wipe_app", "wipe_hardware", "wipe_verifier", "wipe_sodium", "wipe_gate",
         "wipe_logbook", "wipe_sealed", "wipe_channel", "wipe_grant", "wipe_device")
# Those of the native SHA-256 are its own, without the prefix.
WIPE = re.compile(r"(?:pfc_(?:proof_key_)?|(?<=^  ))wipe\(([^;]*)\);")
NATIVE = "sha256_native.c"
FUNCTION = re.compile(r"^(?:PFC_APART )?[a-z].*?\b(\w+)\(")

UNSEEN = {
    ("compact.c", "make_tag", "message, sizeof message"): "so near its caller that the next call stands on it",
    ("config.c", "make_tag", "key, sizeof key"): "made from the salt alone, which is public",
    ("config.c", "make_tag", "full, sizeof full"): "the tag is public",
    ("crypto.c", "pfc_hash_final", "hash, sizeof *hash"): "libsodium 1.0.18 has done it already; do not count on that",
    ("crypto.c", "pfc_shared_secret", "shared, 32"): "the answer to a point of low order: zeros, no secret",
    ("crypto.c", "pfc_seal", "sealed, size + PFC_SEAL_BYTES"): "an answer of zeros: nothing was sealed",
    ("crypto.c", "pfc_unseal", "message, size - PFC_SEAL_BYTES"): "an answer of zeros: nothing was opened",
    ("crypto.c", "pfc_unbox", "message, size - crypto_secretbox_MACBYTES"): "an answer of zeros: nothing was opened",
    ("gate.c", "make_handle", "derived, sizeof derived"): "the handle is public, and nothing uses the other bytes",
    ("gate.c", "beacon_of", "full, sizeof full"): "the beacon is public, and nothing uses the other bytes",
    ("key.c", "pfc_key_id", "derived, sizeof derived"): "the key's public name, and bytes that nothing uses",
    ("key.c", "pfc_secrets_make", "secrets, sizeof *secrets"): "an answer of zeros: nothing was made",
    ("measurement.c", "leaf_end", "full, sizeof full"): "four bytes go into a leaf; nothing uses the others",
    ("measurement.c", "leaves_empty_two", "full, sizeof full"):
        "four bytes of each go into a leaf; nothing uses the others",
    ("logbook.c", "stored_check", "tag, sizeof tag"): "the stored tag, if it is right; else the next call stands on it",
    ("logbook_ring.c", "holds", "found, sizeof found"): "the next look at flash stands on it",
    ("logbook_ring.c", "turn", "&record, sizeof record"): "so near its caller that the next call stands on it",
    ("logbook_ring.c", "take_entries", "&content, sizeof content"): "seen at -O2 and -O3 alone",
    ("logbook_ring.c", "open_page", "store_key, sizeof store_key"):
        "so near its caller that the next call stands on it",
    ("logbook_ring.c", "load_record", "&record, sizeof record"): "so near its caller that the next call stands on it",
    ("logbook_ring.c", "load_record", "bytes, sizeof bytes"): "so near its caller that the next call stands on it",
    ("logbook_reader.c", "read_next", "&content, sizeof content"): "the next key is made over it; not at -O2",
    ("logbook_reader.c", "read_again", "&content, sizeof content"): "the next key is made over it; not at -O2",
    ("logbook_reader.c", "read_again", "&other, sizeof other"): "the next key is made over it; not at -O2",
    ("ledger.c", "check_free", "&slot, sizeof slot"): "a tenant's only after a fault; else zeros",
    ("ledger.c", "check_free", "bytes, sizeof bytes"): "a tenant's only after a fault; else zeros",
    ("proof.c", "pfc_proof_literal", "bytes, sizeof bytes"): "so near its caller that the next call stands on it",
    ("sha256_native.c", "pfc_native_mac_init", "inner->buf, BLOCK"):
        "in the key state, which is secret itself; ProofCoreTests look there",
    ("sha256_native.c", "pfc_native_mac_init", "outer->buf, BLOCK"):
        "in the key state, which is secret itself; ProofCoreTests look there",
    ("sha256_native.c", "pfc_native_mac_final", "digest, sizeof digest"):
        "the inner digest: no key and no message is made from it",
    ("record.c", "pfc_record_save", "tag, sizeof tag"): "half of it is written to storage; nothing uses the other half",
    ("slot.c", "disarm", "slot->token_digest, sizeof slot->token_digest"): "digest of sealed bytes: public",
    ("verifier.c", "receive_ask_challenge", "&session->challenge, sizeof session->challenge"): "a challenge is public",
    ("verifier_admission.c", "revoke", "&next, sizeof next"): "its secrets are out, or the epoch is stored over it",
    ("verifier_judgement.c", "check_proof", "expected, sizeof expected"): "the receipt is made over it",
    ("verifier_judgement.c", "is_in_step", "expected, sizeof expected"): "the tag that was sent, if it is right",
    ("verifier_judgement.c", "step_ratchet", "next, sizeof next"): "the record is stored over it",
    ("verifier_review.c", "is_out_of_step", "expected, sizeof expected"): "the tag that was sent, if it is right",
    ("verifier_judgement.c", "pfc_receive_command", "&session->challenge, sizeof session->challenge"):
        "a challenge is public; wiped so that a skipped instruction finds none (Tests/Adversary/Faults)",
    ("channel.c", "channel_nonce", "full, sizeof full"): "half of it is told by a recall; nothing uses the other half",
    ("channel.c", "pfc_channel_up_open", "plain, PFC_SEALED_PLAIN_MAX"):
        "an answer of zeros: the class is none; ProofCoreTests look there",
    ("sealed.c", "pfc_sealed_follow", "full, sizeof full"): "the channel's key is made over it",
    ("sealed.c", "pfc_sealed_open", "plain, PFC_SEALED_PLAIN_MAX"):
        "an answer of zeros: nothing was opened; ProofCoreTests look there",
    ("verifier_judgement.c", "pfc_receive_sealed", "&session->challenge, sizeof session->challenge"):
        "a challenge is public",
    ("verifier_review.c", "seal_difference", "hint, sizeof hint"): "the hint that was sent, if it is right",
    ("verifier_sealed.c", "is_of", "hint, sizeof hint"): "the next slot's hint is made over it",
    ("unit.c", "is_rekeyed", "&old, sizeof old"): "the identity or the ledger is stored over it",
    ("verifier_review.c", "proof_difference", "expected, sizeof expected"): "the proof that was sent, if it is right",
    ("verifier_review.c", "tag_difference", "expected, sizeof expected"): "the tag that was sent, if it is right",
}


def build(sources, output_of):
    for source in sources:
        subprocess.run(["gcc", "-std=c11", "-O0", f"-I{CORE}/include", f"-I{CORE}",
                        f"-I{ROOT}/CSources/ProofKey/include", f"-I{DEVICE}/include", f"-I{DEVICE}",
                        "-c", source, "-o", output_of(source)], check=True)


def run(objects, native=False):
    """The wipe test's exit status: 2 if this processor lacks the path of SHA-256."""
    program = BUILD / "wipe"
    subprocess.run(["gcc", *map(str, objects), "-Wl,-Bstatic", "-lsodium", "-Wl,-Bdynamic", "-lpthread", "-o",
                    str(program)], check=True)
    environment = {**os.environ, "LEFTOVERS": str(HERE / "leftovers.txt"),
                   "HASH_PATH": "2" if native else "1"}
    return subprocess.run([program], env=environment, stdout=subprocess.PIPE, text=True).returncode


def product():
    """Sources of the core and of the hardware."""
    return [*sorted(CORE.glob("*.c")), *sorted(DEVICE.glob("*.c"))]


def wipes():
    """Every wipe: source, function, argument, and the source without it."""
    for source in product():
        lines = source.read_text(encoding="utf-8").split("\n")
        function = None
        for i, line in enumerate(lines):
            start = FUNCTION.match(line)
            function = start.group(1) if start else function
            for wipe in WIPE.finditer(line):
                # The wipes themselves.
                if start and re.fullmatch("pfc_(proof_key_|measurement_|verifier_)?wipe", function):
                    continue
                without = [*lines[:i], line[:wipe.start()] + "(void)0;" + line[wipe.end():], *lines[i + 1:]]
                yield source, function, wipe.group(1), "\n".join(without)


def main():
    BUILD.mkdir(parents=True, exist_ok=True)
    sources = [*product(), ROOT / "CSources" / "ProofKey" / "sdk_key.c",
               *(HERE / f"{part}.c" for part in PARTS)]
    objects = {source: BUILD / f"{source.stem}.o" for source in sources}
    build(sources, objects.get)
    if run(objects.values()) != 0:
        print("  FAILED  the wipe test fails without a mutant\n0 passed, 1 failed")
        return 1
    has_native = run(objects.values(), native=True) == 0
    passed, failed, skipped, unseen = 0, 0, 0, set(UNSEEN)
    for source, function, argument, text in wipes():
        unseen.discard((source.name, function, argument))
        if source.name == NATIVE and not has_native:
            skipped += 1
            continue
        mutant = BUILD / "mutant.c"
        mutant.write_text(text, encoding="utf-8")
        build([mutant], lambda _: BUILD / "mutant.o")
        lives = run([*(o for s, o in objects.items() if s != source), BUILD / "mutant.o"],
                    native=source.name == NATIVE) == 0
        exempt = (source.name, function, argument) in UNSEEN
        if lives == exempt:
            passed += 1
        else:
            failed += 1
            what = "is not noticed" if lives else "is noticed, and need not stand in UNSEEN"
            print(f"  FAILED  {source.name}, {function}: without pfc_wipe({argument}): {what}")
    for stale in sorted(unseen):
        failed += 1
        print(f"  FAILED  {', '.join(stale)}: no such wipe; take it off UNSEEN")
    if skipped:
        print(f"  {skipped} wipes of {NATIVE} skipped: this processor has no native SHA-256")
    print(f"  {passed} wipes, {len(UNSEEN)} of them beyond what can be seen")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
