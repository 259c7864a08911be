// SPDX-License-Identifier: Apache-2.0

#include <tss2/tss2_esys.h>
