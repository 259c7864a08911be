#include <openssl/opensslv.h>
