// SPDX-License-Identifier: Apache-2.0

/// Outcome of an attempt: the target's exit status, which the walker counts.

#ifndef FAULT_H
#define FAULT_H

enum fault_result {
  FAULT_REFUSED = 40,            ///< With the verdict that it has without a fault
  FAULT_REFUSED_OTHERWISE = 41,  ///< With another verdict, or none
  FAULT_OPENED = 42,             ///< The command was done
  FAULT_TOLD = 43,               ///< It was not done, and the app is told that it was
  FAULT_NOT_SET_UP = 44          ///< The scenario is broken
};

#endif
