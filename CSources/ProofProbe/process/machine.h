// SPDX-License-Identifier: Apache-2.0

/// Relocations by what they mean, for each processor this probe knows. On any other, links are an absent observation.

#ifndef PFP_LINUX_MACHINE_H
#define PFP_LINUX_MACHINE_H

#include <elf.h>

#if defined(__x86_64__)
#define PFP_R_SLOT R_X86_64_JUMP_SLOT
#define PFP_R_GLOBAL R_X86_64_GLOB_DAT
#define PFP_R_WORD R_X86_64_64
#define PFP_R_RELATIVE R_X86_64_RELATIVE
#define PFP_R_CHOSEN R_X86_64_IRELATIVE
#define PFP_HAS_LINKS 1
#elif defined(__aarch64__)
#define PFP_R_SLOT R_AARCH64_JUMP_SLOT
#define PFP_R_GLOBAL R_AARCH64_GLOB_DAT
#define PFP_R_WORD R_AARCH64_ABS64
#define PFP_R_RELATIVE R_AARCH64_RELATIVE
#define PFP_R_CHOSEN R_AARCH64_IRELATIVE
#define PFP_HAS_LINKS 1
#else
#define PFP_HAS_LINKS 0
#endif

#endif
