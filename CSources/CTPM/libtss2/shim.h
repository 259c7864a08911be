#include <tss2/tss2_esys.h>
