/*
 * What is open at exit, for DLAUNCH_LEAK. A third argument says how this ends:
 * "open" with a library, a kernel and an array; "fails" so, with a status of its own;
 * "disowned"; "forked" in a child; "late" with what an exit handler closes. Without
 * one all is closed.
 */
#include "contract.h"

#include <sys/wait.h>
#include <unistd.h>

static dlaunch_library library;
static dlaunch_kernel kernel;
static dlaunch_array array;

static void close_all(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  OK(dlaunch_array_close(array, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
}

static void annotations(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  char *report;
  OK(dlaunch_annotate(array, "somewhere", &err));
  OK(dlaunch_annotate(array, "leaks.c:7", &err));
  report = get_report();
  CHECK(strstr(report, "\"origin\":\"leaks.c:7\",\"bytes\":1024}") != NULL && strstr(report, "somewhere") == NULL);
  free(report);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "text is NULL", dlaunch_annotate(array, NULL, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "never made", dlaunch_annotate(array + 1, "x", &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "never made", dlaunch_disown(array + 1, &err));
}

int main(int argc, char **argv) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  const char *how = argc > 3 ? argv[3] : "";
  int status = 0;
  pid_t child;
  CHECK(argc > 1);
  library = load_kernels(argv[1], "saxpy");
  kernel = get_kernel(library, SAXPY);
  array = make_array(256);
  annotations();
  if (strcmp(how, "forked") == 0) {
    child = fork();
    if (child == 0) exit(0); /* what is open is the parent's */
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  if (strcmp(how, "disowned") == 0) {
    OK(dlaunch_disown(library, &err));
    OK(dlaunch_disown(kernel, &err));
    OK(dlaunch_disown(array, &err));
    return 0;
  }
  if (strcmp(how, "late") == 0) {
    CHECK(atexit(close_all) == 0); /* after the driver was opened */
    return 0;
  }
  printf("still buffered");
  if (strcmp(how, "fails") == 0) return 7;
  if (strcmp(how, "open") == 0) return 0;
  close_all();
  check_nothing_lives();
  return 0;
}
