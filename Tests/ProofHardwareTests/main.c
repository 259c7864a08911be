/// proof-hardware-tests [--long] [--filter TEXT]

#include <stdio.h>
#include <string.h>

#include "hardware_suites.h"

static const struct suite *const suites[] = {&device_suite, &flash_suite, &link_suite, &unit_suite,
                                             &unit_power_suite};

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--long") == 0) {
      options.thorough = true;
    } else if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
      options.filter = argv[++i];
    } else {
      (void)fprintf(stderr, "usage: proof-hardware-tests [--long] [--filter TEXT]\n");
      return 2;
    }
  }
  return harness_run(suites, sizeof suites / sizeof suites[0]);
}
