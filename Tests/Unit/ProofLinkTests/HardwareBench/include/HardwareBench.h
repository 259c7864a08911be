// SPDX-License-Identifier: Apache-2.0

/// The hardware's portable part on flash in memory, with one central: for tests of the app's end.

#ifndef HARDWARE_BENCH_H
#define HARDWARE_BENCH_H

#include <stddef.h>
#include <stdint.h>

enum { HARDWARE_BENCH_PDU_MAX = 517 };

/// Provisions and starts it: production, one issuer, no clock. The id is `id` sixteen times, the secret key `secret`
/// thirty-two times. There is one; making it again begins anew.
int hardware_bench_make(uint8_t id, uint8_t secret, const uint8_t issuer[32], uint64_t seed);
/// Power goes and comes back. Hardware that sealed seals again.
int hardware_bench_restart(void);
/// From now on it answers sealed commands.
int hardware_bench_seal(void);
/// From now on it opens channels, too.
int hardware_bench_keep_channels(void);
/// From now on it takes grants. It starts again.
int hardware_bench_lend(void);
void hardware_bench_connect(void);
void hardware_bench_disconnect(void);
/// 0, or 1 if the hardware ends the link.
int hardware_bench_receive(const uint8_t *pdu, size_t size);
/// The oldest PDU that was sent and not taken; 0 if there is none.
size_t hardware_bench_take(uint8_t pdu[HARDWARE_BENCH_PDU_MAX]);
/// Commands done since it was made, power losses or not.
uint32_t hardware_bench_done(void);

#endif
