/* DLAUNCH_LOG and DLAUNCH_LEAK, as far as they are C. */
#ifndef DL_EXIT_H
#define DL_EXIT_H

#include <stdbool.h>

/* dl_look_for_leaks_at_exit has exit() say which handles are open, and, if fails,
 * end the process with status 23 where it would be 0. */
void dl_look_for_leaks_at_exit(bool fails);

/* What DLAUNCH_LOG and DLAUNCH_LEAK were when the library was loaded, "" if unset. */
const char *dl_log_setting(void);
const char *dl_leak_setting(void);

#endif
