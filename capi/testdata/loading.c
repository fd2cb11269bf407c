/*
 * What loading the library does to a process: it takes over five signals, opens
 * no driver, and shows nothing under a name that a host could have.
 */
#include "contract.h"

#include <dlfcn.h>
#include <signal.h>

static int is_taken(int number) {
  return number == SIGBUS || number == SIGFPE || number == SIGSEGV || number == SIGPIPE || number == SIGURG;
}

static void no_driver_is_mapped(void) {
  char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  while (fgets(line, sizeof line, maps) != NULL) CHECK(strstr(line, "libcuda") == NULL);
  fclose(maps);
}

int main(int argc, char **argv) {
  struct sigaction before[65], after;
  void *library;
  uint32_t (*version)(void);
  int number;
  CHECK(argc > 2);
  memset(before, 0, sizeof before);
  for (number = 1; number <= 64; number++) sigaction(number, NULL, &before[number]);
  library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(library != NULL);
  *(void **)&version = dlsym(library, "dlaunch_abi_version");
  CHECK(version != NULL && version() == DLAUNCH_ABI_VERSION);
  for (number = 1; number <= 64; number++) {
    if (sigaction(number, NULL, &after) != 0) continue;
    if (is_taken(number) != (after.sa_handler != before[number].sa_handler)) {
      fprintf(stderr, "signal %d: the handler is %s\n", number, is_taken(number) ? "as before" : "another");
      return 1;
    }
  }
  no_driver_is_mapped();
  CHECK(dlsym(library, "crosscall2") == NULL && dlsym(library, "go_launch") == NULL);
  CHECK(dlsym(library, "dl_execute") == NULL && dlsym(library, "_cgo_panic") == NULL);
  CHECK(dlclose(library) == 0 && version() == DLAUNCH_ABI_VERSION); /* it stays */
  return 0;
}
