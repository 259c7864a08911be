// SPDX-License-Identifier: Apache-2.0

#include <webkit2/webkit2.h>
