/* The benchmarks' driver, for tests of who launches, and of launches that wait. */
#define _GNU_SOURCE
#define cuLaunchKernelEx launch_at_once
#include "../../../bench/stub/libcuda.c"
#undef cuLaunchKernelEx

#include <unistd.h>

_Atomic int stub_waits;                    /* launches wait while this is not 0 */
_Atomic int stub_takes;                    /* and take so many µs */
_Atomic int stub_code;                     /* what they give */
_Atomic int stub_launches, stub_elsewhere; /* of all threads, and of those that are dlaunch's own */

static int is_dlaunch(void) {
  char name[16];
  return pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strcmp(name, "dlaunch") == 0;
}

result cuLaunchKernelEx(const launch_config *config, void *function, void **parameters, void **extra) {
  stub_launches++;
  if (is_dlaunch()) stub_elsewhere++;
  usleep((useconds_t)stub_takes);
  while (stub_waits) usleep(100);
  return stub_code != 0 ? stub_code : launch_at_once(config, function, parameters, extra);
}
