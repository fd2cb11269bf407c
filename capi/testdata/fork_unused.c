/* A fork before any call but after loading: the child must not enter Go either. */
#include "contract.h"

#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int32_t count = 0;
  int status = 0;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20); /* to hang is to fail */
    REFUSED(DLAUNCH_ERROR_FORKED, "forked", dlaunch_device_count(&count, &err));
    exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  OK(dlaunch_device_count(&count, &err));
  CHECK(count > 0);
  return 0;
}
