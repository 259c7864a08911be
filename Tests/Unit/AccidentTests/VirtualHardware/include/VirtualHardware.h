// SPDX-License-Identifier: Apache-2.0

/// Pieces of hardware in memory: the portable part of CSources/ProofDevice, NOR flash whose power can fail in any
/// operation and that can be read and put back, a clock, dice. Several centrals at a time.
///
/// A piece has a number. Calls for different pieces may come from different threads at once; calls for one piece come
/// one after the other.

#ifndef VIRTUAL_HARDWARE_H
#define VIRTUAL_HARDWARE_H

#include <stddef.h>
#include <stdint.h>

enum { VIRTUAL_HARDWARE_PDU_MAX = 517, VIRTUAL_HARDWARE_KEY_BYTES = 32, VIRTUAL_HARDWARE_ID_BYTES = 16 };

/// State of the flash after the operation in which power failed.
enum virtual_hardware_tear {
  VIRTUAL_HARDWARE_NOTHING = 0,  ///< It had not begun.
  VIRTUAL_HARDWARE_PART = 1,     ///< The first bytes are changed.
  VIRTUAL_HARDWARE_NOISE = 2     ///< Any bit that was to change did or did not.
};

/// A blank piece of development hardware; its number, or -1 if there are too many. Calls of this function and of
/// `virtual_hardware_scrap` come one after the other.
int virtual_hardware_make(const uint8_t id[VIRTUAL_HARDWARE_ID_BYTES],
                          const uint8_t secret_key[VIRTUAL_HARDWARE_KEY_BYTES], uint64_t seed);
void virtual_hardware_scrap(int number);

/// Settings, before provisioning. Forgets the issuers that it trusts; then names one.
void virtual_hardware_distrust(int number);
void virtual_hardware_trust(int number, const uint8_t issuer[VIRTUAL_HARDWARE_KEY_BYTES]);
/// The factory secret, as it was drawn; with it a log that begins at entry 0.
void virtual_hardware_draw(int number, const uint8_t drawn[VIRTUAL_HARDWARE_KEY_BYTES]);
/// Whether it answers sealed commands, from the next start on.
void virtual_hardware_seal(int number, int seals);
/// Whether it opens channels, from the next start on. It then answers sealed commands, too.
void virtual_hardware_keep_channels(int number, int keeps);
/// It takes grants from then on. Before provisioning: its flash has pages for them.
void virtual_hardware_lend(int number);
/// Another secret key.
void virtual_hardware_rekey(int number, const uint8_t secret_key[VIRTUAL_HARDWARE_KEY_BYTES]);
/// Writes identity and an empty ledger: all of `epoch`, `floor` and `counter` as `pfd_unit_provision`. 0 if it did.
int virtual_hardware_provision(int number, uint64_t epoch, uint64_t floor, uint64_t counter);

/// Power comes, or goes and comes. 0, or the result of the start.
int virtual_hardware_start(int number);
/// Power fails in flash operation `operation` from now on, counted from 1; 0 for never.
void virtual_hardware_cut(int number, uint32_t operation, enum virtual_hardware_tear tear);
/// Whether power has failed. Nothing answers then.
int virtual_hardware_is_dark(int number);
void virtual_hardware_pass(int number, uint32_t seconds);

/// A link, or -1 if none is free.
int virtual_hardware_connect(int number);
void virtual_hardware_disconnect(int number, int link);
/// 0, or 1 if the hardware ends the link.
int virtual_hardware_receive(int number, int link, const uint8_t *pdu, size_t size);
/// The oldest PDU that was sent on the link and not taken; 0 if there is none.
size_t virtual_hardware_take(int number, int link, uint8_t pdu[VIRTUAL_HARDWARE_PDU_MAX]);

/// Commands done since it was made, power losses or not.
uint32_t virtual_hardware_done(int number);
/// Programs and erases of flash since it was made.
uint32_t virtual_hardware_operations(int number);
uint32_t virtual_hardware_erases(int number);
/// It is at least this late, as far as it knows, in Unix seconds.
uint64_t virtual_hardware_epoch(int number);
/// The generation that it holds for an instance; 0 for none.
uint32_t virtual_hardware_generation(int number, const uint8_t instance[VIRTUAL_HARDWARE_ID_BYTES]);
/// Uses that are left to an instance; 0 without a token.
uint32_t virtual_hardware_uses(int number, const uint8_t instance[VIRTUAL_HARDWARE_ID_BYTES]);
/// Uses that are left of what an instance was lent; 0 for none.
uint32_t virtual_hardware_lent(int number, const uint8_t instance[VIRTUAL_HARDWARE_ID_BYTES]);
size_t virtual_hardware_flash_size(void);
void virtual_hardware_read_flash(int number, uint8_t *flash);
void virtual_hardware_put_flash(int number, const uint8_t *flash);

#endif
