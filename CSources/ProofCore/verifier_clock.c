// SPDX-License-Identifier: Apache-2.0

#include "verifier_clock.h"

#include "internal.h"

uint32_t pfc_platform_seconds(const struct pfc_platform *platform) {
  return platform->seconds != NULL ? platform->seconds(platform->context) : 0;
}

uint64_t pfc_verifier_epoch(const struct pfc_verifier *verifier) {
  uint64_t epoch = verifier->epoch;
  // Time cannot have passed more slowly than the platform's own clock, so this stays a lower bound.
  uint32_t passed = verifier->ready ? pfc_platform_seconds(&verifier->platform) - verifier->epoch_seconds : 0;
  if (epoch == 0) return 0;
  return epoch > UINT64_MAX - passed ? UINT64_MAX : epoch + passed;
}

/// Before a floor frees slots: "not executed" was told of challenges that may still be alive on another link, and must
/// stay true for an instance that comes back into a slot.
static void remember_recalls(struct pfc_verifier *verifier) {
  for (int i = 0; i < PFC_SLOTS; i++) {
    if (verifier->alive_from[i] > verifier->swept_from) verifier->swept_from = verifier->alive_from[i];
  }
}

uint64_t pfc_verifier_time(const struct pfc_verifier *verifier) {
  uint64_t epoch = pfc_verifier_epoch(verifier);
  return epoch > verifier->ledger.floor ? epoch : verifier->ledger.floor;
}

int pfc_verifier_raise(struct pfc_verifier *verifier, const volatile uint32_t *review, uint64_t epoch, uint64_t floor,
                       int *changed) {
  int result;
  if (*review != PFC_REVIEW_PASSED) return PFC_E_STORAGE;
  if (floor != 0) remember_recalls(verifier);
  result = pfc_ledger_raise(&verifier->ledger, epoch, floor, changed);
  // Take over the stored epoch, even if a later step failed. The running clock may have passed it already; only a
  // restart makes it news then.
  if (verifier->ledger.epoch > pfc_verifier_epoch(verifier)) {
    verifier->epoch = verifier->ledger.epoch;
    verifier->epoch_seconds = pfc_platform_seconds(&verifier->platform);
  }
  return result;
}

#if PFC_OPENS_TOKENS
// The seconds fit 32 bits first: a division of 64 bits is code of its own.
uint16_t pfc_days_past(uint64_t now, uint64_t end) {
  uint64_t seconds = now - end;
  uint32_t counted = seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX;
  return (uint16_t)(counted / 86400 + 1);
}
#endif
