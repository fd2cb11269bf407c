/*
 * A bug in dlaunch ends as a status, and the calls after it work. Only for the
 * library that TestPanic builds, with bugs in two functions of its driver.
 */
#include "contract.h"

int main(void) {
  static const char image[] = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n";
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = 7;
  dlaunch_kernel kernel;
  dlaunch_config config = make_config(1, 1);
  size_t room = 7, total = 7;
  REFUSED(DLAUNCH_ERROR_INTERNAL, "dlaunch_memory_info: a bug in dlaunch: provoked\n",
          dlaunch_memory_info(0, &room, &total, &err));
  CHECK(room == 7 && total == 7);
  OK(dlaunch_memory_info(0, &room, &total, &err));
  CHECK(room > 0 && room <= total);

  REFUSED(DLAUNCH_ERROR_INTERNAL,
          "dlaunch_library_load: a bug in dlaunch: runtime error: invalid memory address or nil pointer dereference\n",
          dlaunch_library_load(image, sizeof image - 1, NULL, &library, &err));
  CHECK(library == 0);
  OK(dlaunch_library_load(image, sizeof image - 1, NULL, &library, &err));
  kernel = get_kernel(library, "k()");
  OK(dlaunch_launch(kernel, &config, NULL, 0, &err));
  OK(dlaunch_synchronize(0, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
  OK(dlaunch_array_close(make_array(4), &err));
  check_nothing_lives();
  return 0;
}
