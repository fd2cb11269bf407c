#ifndef DL_EXIT_H
#define DL_EXIT_H

#include <stdbool.h>

/* dl_look_for_leaks_at_exit has exit() say which handles are open, and, if fails,
 * end the process with status 23 where it would be 0. */
void dl_look_for_leaks_at_exit(bool fails);

#endif
