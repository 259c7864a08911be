// Set-user-id root, for whoever starts it: ends with 0 if that made it root.

#include <unistd.h>

int main(void) { return geteuid() == 0 ? 0 : 1; }
