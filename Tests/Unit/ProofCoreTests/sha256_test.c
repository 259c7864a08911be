// SPDX-License-Identifier: Apache-2.0

/// The paths of SHA-256: their choice, libsodium's results by each, in every length, cut and place, and what they
/// leave.

#define _DEFAULT_SOURCE
#include "sha256.h"

#include <string.h>

#include "ProofCore.h"
#include "harness.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#endif

enum { LENGTH_MAX = 300 };

_Static_assert(PFC_HASH_UNKNOWN == 0 && PFC_HASH_PORTABLE == 1 && PFC_HASH_X86 == 2 && PFC_HASH_ARM == 3,
               "the paths' public numbers");

static uint8_t bytes[LENGTH_MAX + 8];

static void fill(uint64_t seed) {
  struct dice dice = {seed};
  dice_fill(&dice, bytes, sizeof bytes);
}

/// libsodium's, whatever path is in use.
static void peer_hash(uint8_t digest[32], const uint8_t *message, size_t size) {
  // Not the one-shot call, which the firmware's part of libsodium lacks.
  crypto_hash_sha256_state state;
  (void)crypto_hash_sha256_init(&state);
  (void)crypto_hash_sha256_update(&state, message, size);
  (void)crypto_hash_sha256_final(&state, digest);
}

static void peer_mac(uint8_t tag[32], const uint8_t *key, size_t key_size, const uint8_t *message, size_t size) {
  crypto_auth_hmacsha256_state state;
  (void)crypto_auth_hmacsha256_init(&state, key, key_size);
  (void)crypto_auth_hmacsha256_update(&state, message, size);
  (void)crypto_auth_hmacsha256_final(&state, tag);
}

// Choice -----------------------------------------------------------------------------------------------------------

static void a_path_is_chosen_and_told(void) {
  enum pfc_hash_path before = pfc_hash_in_use();
  CHECK(before == PFC_HASH_PORTABLE || before == PFC_HASH_X86 || before == PFC_HASH_ARM);
  CHECK_NUMBER(pfc_hash_use(PFC_HASH_PORTABLE), PFC_OK);
  CHECK_NUMBER(pfc_hash_in_use(), PFC_HASH_PORTABLE);
  CHECK_NUMBER(pfc_hash_use(PFC_HASH_UNKNOWN), PFC_OK);
  CHECK_NUMBER(pfc_hash_in_use(), options.native);
  CHECK_NUMBER(pfc_hash_use(before), PFC_OK);
  CHECK_NUMBER(pfc_hash_in_use(), before);
}

/// Asks the processor by other code than the core's.
static int path_of_processor(void) {
#if defined(PFC_HASH_PORTABLE_ONLY)
  return PFC_HASH_PORTABLE;
#elif defined(__linux__) && defined(__x86_64__)
  unsigned a = 7, b = 0, c = 0, d = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (b >> 29 & 1) != 0 ? PFC_HASH_X86 : PFC_HASH_PORTABLE;
#elif defined(__linux__) && defined(__aarch64__) && !defined(__AARCH64EB__)
  return (getauxval(AT_HWCAP) >> 6 & 1) != 0 ? PFC_HASH_ARM : PFC_HASH_PORTABLE;
#else
  return PFC_HASH_PORTABLE;
#endif
}

// A native path that fails its test is not used, and nothing else would tell.
static void the_instructions_are_used(void) {
  CHECK_NUMBER(options.native, path_of_processor());
}

static void a_path_that_is_not_there_is_refused(void) {
  static const int absent[] = {PFC_HASH_X86, PFC_HASH_ARM, 4, 255, 257, 258, -1};
  enum pfc_hash_path before = pfc_hash_in_use();
  for (unsigned i = 0; i < sizeof absent / sizeof absent[0]; i++) {
    enum pfc_hash_path path = (enum pfc_hash_path)absent[i];
    if (absent[i] == options.native) continue;
    // Bare-metal Arm keeps this enumeration in one byte, and 257 in it is 1.
    if (sizeof path == 1 && absent[i] > 255) continue;
    test_case("path %d", absent[i]);
    CHECK_NUMBER(pfc_hash_use(path), PFC_E_ARGUMENT);
    CHECK_NUMBER(pfc_hash_in_use(), before);
  }
}

// Results ----------------------------------------------------------------------------------------------------------

static void every_length_and_cut(void) {
  fill(1804);
  for (size_t size = 0; size <= LENGTH_MAX; size++) {
    uint8_t expected[32], digest[32];
    peer_hash(expected, bytes, size);
    for (size_t cut = 0; cut <= size; cut++) {
      struct pfc_hash hash;
      test_case("%zu bytes, cut at %zu", size, cut);
      pfc_hash_init(&hash);
      pfc_hash_update(&hash, bytes, cut);
      pfc_hash_update(&hash, bytes + cut, size - cut);
      pfc_hash_final(digest, &hash);
      CHECK_BYTES(digest, expected, 32);
    }
  }
}

static void every_key_length(void) {
  fill(2104);
  for (size_t key_size = 0; key_size <= 200; key_size++) {
    uint8_t expected[32], tag[32];
    struct pfc_mac mac;
    size_t size = (key_size * 7) % 130;
    test_case("a key of %zu bytes, a message of %zu", key_size, size);
    peer_mac(expected, bytes, key_size, bytes + 90, size);
    pfc_mac_init(&mac, bytes, key_size);
    pfc_mac_update(&mac, bytes + 90, size);
    pfc_mac_final(tag, &mac);
    CHECK_BYTES(tag, expected, 32);
    CHECK_ZEROS(&mac, sizeof mac);
  }
}

static void a_key_state_holds_no_key(void) {
  struct pfc_mac mac;
  if (pfc_hash_in_use() == PFC_HASH_PORTABLE) {
    test_note("a key state's buffers are libsodium's to wipe on the portable path");
    return;
  }
  fill(54);
  for (size_t key_size = 1; key_size <= 100; key_size += 9) {
    test_case("a key of %zu bytes", key_size);
    pfc_mac_init(&mac, bytes, key_size);
    CHECK_ZEROS(mac.state.ictx.buf, 64);
    CHECK_ZEROS(mac.state.octx.buf, 64);
  }
}

static void a_transcript_may_change_its_path(void) {
  enum pfc_hash_path before = pfc_hash_in_use();
  const enum pfc_hash_path paths[2] = {PFC_HASH_PORTABLE, (enum pfc_hash_path)options.native};
  fill(1805);
  for (unsigned turn = 0; turn < 8; turn++) {
    for (size_t size = 0; size <= LENGTH_MAX; size += 3) {
      uint8_t expected[32], digest[32];
      struct pfc_mac mac;
      size_t cut = (size * 5) % (size + 1);
      test_case("turn %u, %zu bytes, cut at %zu", turn, size, cut);
      peer_mac(expected, bytes, 40, bytes, size);
      CHECK_NUMBER(pfc_hash_use(paths[turn & 1]), PFC_OK);
      pfc_mac_init(&mac, bytes, 40);
      pfc_mac_update(&mac, bytes, cut);
      CHECK_NUMBER(pfc_hash_use(paths[(turn >> 1) & 1]), PFC_OK);
      pfc_mac_update(&mac, bytes + cut, size - cut);
      CHECK_NUMBER(pfc_hash_use(paths[(turn >> 2) & 1]), PFC_OK);
      pfc_mac_final(digest, &mac);
      CHECK_BYTES(digest, expected, 32);
    }
  }
  CHECK_NUMBER(pfc_hash_use(before), PFC_OK);
}

static void long_counts(void) {
  static const uint64_t counts[] = {UINT64_C(1) << 32, (UINT64_C(1) << 32) - 512, UINT64_C(0xfffffffffffffe00),
                                    UINT64_C(0x123456789abcde00)};
  fill(180);
  for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    for (size_t size = 0; size <= 130; size += 13) {
      struct pfc_hash hash;
      crypto_hash_sha256_state peer;
      uint8_t digest[32], expected[32];
      test_case("count %u, %zu bytes more", i, size);
      pfc_hash_init(&hash);
      // As if so many bits had been hashed: no test hashes half a gigabyte of them.
      hash.state.count = counts[i];
      peer = hash.state;
      pfc_hash_update(&hash, bytes, size);
      pfc_hash_final(digest, &hash);
      (void)crypto_hash_sha256_update(&peer, bytes, size);
      (void)crypto_hash_sha256_final(&peer, expected);
      CHECK_BYTES(digest, expected, 32);
    }
  }
}

// Short messages ---------------------------------------------------------------------------------------------------

static void short_macs(void) {
  struct pfc_mac key;
  fill(48);
  pfc_mac_init(&key, bytes, 32);
  for (size_t size = 0; size <= 130; size++) {
    for (size_t cut = 0; cut <= size; cut++) {
      const struct pfc_short message = {&key, bytes, cut, cut == size ? NULL : bytes + cut, size - cut};
      uint8_t expected[32], tag[32];
      test_case("%zu bytes, cut at %zu", size, cut);
      peer_mac(expected, bytes, 32, bytes, size);
      pfc_mac_short(tag, &message);
      CHECK_BYTES(tag, expected, 32);
    }
  }
}

static void pairs_of_short_macs(void) {
  struct pfc_mac keys[2];
  fill(49);
  pfc_mac_init(&keys[0], bytes, 16);
  pfc_mac_init(&keys[1], bytes + 1, 64);
  for (size_t first = 0; first <= 70; first++) {
    for (size_t second = 0; second <= 70; second++) {
      const struct pfc_short messages[2] = {{&keys[0], bytes, first / 2, bytes + first / 2, first - first / 2},
                                            {&keys[1], bytes + 3, second, NULL, 0}};
      uint8_t expected[2][32], tags[2][32];
      test_case("%zu and %zu bytes", first, second);
      peer_mac(expected[0], bytes, 16, bytes, first);
      peer_mac(expected[1], bytes + 1, 64, bytes + 3, second);
      pfc_mac_short_two(tags, messages);
      CHECK_BYTES(tags, expected, sizeof tags);
    }
  }
}

static void a_key_that_was_added_to(void) {
  struct pfc_mac used;
  uint8_t expected[32], tags[2][32];
  fill(50);
  pfc_mac_init(&used, bytes, 32);
  pfc_mac_update(&used, bytes, 20);
  const struct pfc_short messages[2] = {{&used, bytes + 20, 10, bytes + 30, 5}, {&used, bytes + 20, 15, NULL, 0}};
  peer_mac(expected, bytes, 32, bytes, 35);
  pfc_mac_short(tags[0], &messages[0]);
  CHECK_BYTES(tags[0], expected, 32);
  pfc_mac_short_two(tags, messages);
  CHECK_BYTES(tags[0], expected, 32);
  CHECK_BYTES(tags[1], expected, 32);
}

static void pairs_of_proofs(void) {
  struct pfc_proof_key keys[2];
  const struct pfc_proof_key *const both[2] = {&keys[0], &keys[1]};
  const uint8_t *const nonces[2] = {bytes, bytes + 16};
  const uint8_t *const measurements[2] = {bytes + 32, bytes + 64};
  uint8_t proofs[2][32], expected[32];
  fill(51);
  pfc_proof_key_init(&keys[0], bytes + 100);
  pfc_proof_key_init(&keys[1], bytes + 116);
  pfc_proof_make_two(proofs, both, nonces, measurements);
  for (unsigned i = 0; i < 2; i++) {
    test_case("proof %u", i);
    pfc_proof_make(expected, both[i], nonces[i], measurements[i]);
    CHECK_BYTES(proofs[i], expected, 32);
    pfc_proof_make_once(expected, bytes + 100 + 16 * i, nonces[i], measurements[i]);
    CHECK_BYTES(proofs[i], expected, 32);
  }
}

// Memory and registers ---------------------------------------------------------------------------------------------

#if defined(__linux__)

enum { PAGE = 65536 };

/// A page with nothing behind it.
static uint8_t *guarded_page(void) {
  uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) != 0) return NULL;
  return pages;
}

static void nothing_beyond_is_read(void) {
  uint8_t *page = guarded_page();
  struct pfc_mac key;
  REQUIRE(CHECK(page != NULL));
  fill(52);
  pfc_mac_init(&key, bytes, 32);
  for (size_t size = 0; size <= 192; size++) {
    uint8_t expected[32], digest[32];
    uint8_t *message = page + PAGE - size;
    struct pfc_hash hash;
    struct pfc_mac mac;
    const struct pfc_short shortened = {&key, message, size, NULL, 0};
    test_case("%zu bytes, at %zu of 64", size, (64 - size % 64) % 64);
    memcpy(message, bytes, size);
    peer_hash(expected, bytes, size);
    pfc_hash_init(&hash);
    pfc_hash_update(&hash, message, size);
    pfc_hash_final(digest, &hash);
    CHECK_BYTES(digest, expected, 32);
    peer_mac(expected, bytes, 32, bytes, size);
    pfc_mac_short(digest, &shortened);
    CHECK_BYTES(digest, expected, 32);
    peer_mac(expected, bytes, size, bytes, 20);
    pfc_mac_init(&mac, message, size);
    pfc_mac_update(&mac, bytes, 20);
    pfc_mac_final(digest, &mac);
    CHECK_BYTES(digest, expected, 32);
  }
  CHECK_NUMBER(munmap(page, 2 * PAGE), 0);
}

#else

static void nothing_beyond_is_read(void) { test_note("not run: this machine has no pages"); }

#endif

#if defined(__x86_64__) && defined(__linux__)

enum { REGISTERS_BYTES = 16 * 16 + 9 * 8 };

/// Calls `call(argument)` and keeps the vector registers and the general ones that a callee may change.
void registers_after(uint8_t registers[REGISTERS_BYTES], void (*call)(const void *argument), const void *argument);

__asm__(
    ".text\n"
    ".type registers_after, @function\n"
    "registers_after:\n\t"
    "pushq %rbx\n\tmovq %rdi, %rbx\n\tmovq %rsi, %rax\n\tmovq %rdx, %rdi\n\tcall *%rax\n\t"
    "movdqu %xmm0, (%rbx)\n\tmovdqu %xmm1, 16(%rbx)\n\tmovdqu %xmm2, 32(%rbx)\n\tmovdqu %xmm3, 48(%rbx)\n\t"
    "movdqu %xmm4, 64(%rbx)\n\tmovdqu %xmm5, 80(%rbx)\n\tmovdqu %xmm6, 96(%rbx)\n\tmovdqu %xmm7, 112(%rbx)\n\t"
    "movdqu %xmm8, 128(%rbx)\n\tmovdqu %xmm9, 144(%rbx)\n\tmovdqu %xmm10, 160(%rbx)\n\tmovdqu %xmm11, 176(%rbx)\n\t"
    "movdqu %xmm12, 192(%rbx)\n\tmovdqu %xmm13, 208(%rbx)\n\tmovdqu %xmm14, 224(%rbx)\n\tmovdqu %xmm15, 240(%rbx)\n\t"
    "movq %rax, 256(%rbx)\n\tmovq %rcx, 264(%rbx)\n\tmovq %rdx, 272(%rbx)\n\tmovq %rsi, 280(%rbx)\n\t"
    "movq %rdi, 288(%rbx)\n\tmovq %r8, 296(%rbx)\n\tmovq %r9, 304(%rbx)\n\tmovq %r10, 312(%rbx)\n\t"
    "movq %r11, 320(%rbx)\n\tpopq %rbx\n\tret\n"
    ".size registers_after, .-registers_after\n");

static struct pfc_mac kept_key;
static uint8_t kept_tags[2][32];

static void call_init(const void *argument) { pfc_mac_init(&kept_key, argument, 32); }

static void call_update(const void *argument) { pfc_mac_update(&kept_key, argument, 150); }

/// A block that was begun, and is not filled.
static void call_update_a_little(const void *argument) {
  pfc_mac_update(&kept_key, argument, 7);
  pfc_mac_update(&kept_key, (const uint8_t *)argument + 7, 38);
}

static void call_final(const void *argument) {
  (void)argument;
  pfc_mac_final(kept_tags[0], &kept_key);
}

static void call_short(const void *argument) {
  const struct pfc_short message = {&kept_key, argument, 16, (const uint8_t *)argument + 16, 32};
  pfc_mac_short(kept_tags[0], &message);
}

static void call_short_two(const void *argument) {
  const struct pfc_short messages[2] = {{&kept_key, argument, 40, NULL, 0},
                                        {&kept_key, (const uint8_t *)argument + 40, 33, NULL, 0}};
  pfc_mac_short_two(kept_tags, messages);
}

/// Whether four bytes in a row of the secret stand in a register, in either order of bytes.
static bool stands_in(const uint8_t registers[REGISTERS_BYTES], const void *secret, size_t size) {
  const uint8_t *byte = secret;
  for (size_t i = 0; i + 4 <= size; i++) {
    const uint8_t reversed[4] = {byte[i + 3], byte[i + 2], byte[i + 1], byte[i]};
    for (size_t at = 0; at + 4 <= REGISTERS_BYTES; at++) {
      if (memcmp(registers + at, byte + i, 4) == 0 || memcmp(registers + at, reversed, 4) == 0) return true;
    }
  }
  return false;
}

static void registers_are_wiped(void) {
  static void (*const calls[])(const void *) = {call_short, call_short_two, call_update, call_update_a_little,
                                                call_final, call_init};
  uint8_t registers[REGISTERS_BYTES], inner[32];
  if (pfc_hash_in_use() == PFC_HASH_PORTABLE) {
    test_note("registers are libsodium's to wipe on the portable path");
    return;
  }
  fill(53);
  for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    struct pfc_mac fresh;
    struct pfc_hash hash;
    pfc_mac_init(&fresh, bytes, 32);
    // The inner digest of the 48 bytes.
    hash.state = fresh.state.ictx;
    pfc_hash_update(&hash, bytes + 100, 48);
    pfc_hash_final(inner, &hash);
    if (calls[i] != call_init) kept_key = fresh;
    test_case("call %u", i);
    registers_after(registers, calls[i], calls[i] == call_init ? bytes : bytes + 100);
    CHECK(!stands_in(registers, bytes, 32));
    CHECK(!stands_in(registers, bytes + 100, 150));
    CHECK(!stands_in(registers, fresh.state.ictx.state, 32));
    CHECK(!stands_in(registers, fresh.state.octx.state, 32));
    CHECK(!stands_in(registers, inner, 32));
  }
}

#else

static void registers_are_wiped(void) { test_note("not run: the registers are x86-64's"); }

#endif

static const struct test tests[] = {
    TEST("a path is chosen for the whole process, and told", a_path_is_chosen_and_told),
    TEST("a processor that has the instructions uses them", the_instructions_are_used),
    TEST("a path that this build or processor lacks is refused, and nothing changes",
         a_path_that_is_not_there_is_refused),
    TEST("every length with every cut has libsodium's digest", every_length_and_cut),
    TEST("keys of every length give libsodium's tags", every_key_length),
    TEST("a native key state holds no block of the key", a_key_state_holds_no_key),
    TEST("a transcript may change its path at every call", a_transcript_may_change_its_path),
    TEST("counts beyond 32 bits give libsodium's digest", long_counts),
    TEST("short messages in two pieces have libsodium's tags", short_macs),
    TEST("two short messages at once have libsodium's tags", pairs_of_short_macs),
    TEST("a key that something was added to serves as a transcript", a_key_that_was_added_to),
    TEST("two proofs at once are the two proofs", pairs_of_proofs),
    TEST("calls read no byte beyond a message or a key, at any alignment", nothing_beyond_is_read),
    TEST("native calls leave no secret in a register", registers_are_wiped),
};

const struct suite sha256_suite = SUITE("sha256", tests);
