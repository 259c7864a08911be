// SPDX-License-Identifier: Apache-2.0

/// The board's registers and flash in this machine's memory, for the parts of the port that parts.c builds.
///
/// Each look at the timer passes time; each look at the log's line takes the byte that was put there.

#include "board.h"

#undef BOARD_TIMER
#undef BOARD_LOG_UART
#undef BOARD_NOR
#define BOARD_TIMER (parts_timer())
#define BOARD_LOG_UART (parts_line())
#define BOARD_NOR ((volatile uint32_t *)parts_nor)

extern uint32_t parts_nor[1 << 15];

struct board_timer *parts_timer(void);
struct board_uart *parts_line(void);
