/*
 * Which driver is taken, and why none is, through the ABI. The test chooses the
 * environment, the driver among it, and runs
 *
 *   PROGRAM KIND DRIVER_CODE WORDS...
 *
 * KIND is what dlaunch_driver_info must give, or `none`: then every function that
 * needs a driver ends with NO_DRIVER and the driver's code. The reason, or the
 * message, must have the words.
 */
#include "contract.h"

static void has(const char *text, char **words) {
  for (; *words != NULL; words++) {
    if (strstr(text, *words) == NULL) {
      fprintf(stderr, "%s\n  does not say: %s\n", text, *words);
      exit(1);
    }
  }
}

static void refused(dlaunch_status status, dlaunch_error *err, int code, char **words) {
  if (status != DLAUNCH_ERROR_NO_DRIVER) fprintf(stderr, "%s: %s\n", dlaunch_status_name(status), err->message);
  CHECK(status == DLAUNCH_ERROR_NO_DRIVER && err->status == 8);
  CHECK(err->driver_code == code && err->argument == -1);
  CHECK(strncmp(err->message, "dlaunch_", 8) == 0);
  has(err->message, words);
  memset(err, 0, sizeof *err);
  err->struct_size = sizeof *err;
}

static void none(int code, char **words) {
  static const char image[] = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n";
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_driver_info_t info = DLAUNCH_DRIVER_INFO_INIT, untouched = DLAUNCH_DRIVER_INFO_INIT;
  dlaunch_library library = 7;
  dlaunch_array array = 7;
  dlaunch_stream stream = 7;
  int64_t shape[1] = {4};
  int32_t count = -7;
  int again;
  for (again = 0; again < 2; again++) { /* what was found is remembered */
    refused(dlaunch_driver_info(&info, &err), &err, code, words);
    CHECK(memcmp(&info, &untouched, sizeof info) == 0);
    refused(dlaunch_device_count(&count, &err), &err, code, words);
    CHECK(count == -7);
    refused(dlaunch_library_load(image, sizeof image - 1, NULL, &library, &err), &err, code, words);
    CHECK(library == 0);
    refused(dlaunch_array_create(0, dtype_of(kDLFloat, 32), 1, shape, &array, &err), &err, code, words);
    CHECK(array == 0);
    refused(dlaunch_stream_create(0, 0, &stream, &err), &err, code, words);
    CHECK(stream == 0);
    refused(dlaunch_synchronize(0, &err), &err, code, words);
  }
}

int main(int argc, char **argv) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_driver_info_t info = DLAUNCH_DRIVER_INFO_INIT;
  CHECK(argc > 3);
  if (strcmp(argv[1], "none") == 0) {
    none(atoi(argv[2]), argv + 3);
  } else {
    OK(dlaunch_driver_info(&info, &err));
    CHECK(strcmp(info.kind, argv[1]) == 0 && info.devices > 0);
    has(info.reason, argv + 3);
  }
  check_nothing_lives();
  return 0;
}
