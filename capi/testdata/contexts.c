/* The current device of a thread, streams' priorities, and asking streams. */
#include "contract.h"

static void devices(int32_t count) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  uint64_t none = 7, first = 7, again = 7;
  OK(dlaunch_device_enter(0, &none, &err));
  CHECK(none == 0);
  OK(dlaunch_device_enter(count - 1, &first, &err));
  CHECK(first != 0);
  OK(dlaunch_stream_synchronize(0, &err)); /* of that device, and not of 0 */
  OK(dlaunch_device_leave(first, &err));
  OK(dlaunch_device_enter(count - 1, &again, &err));
  CHECK(again == first);
  OK(dlaunch_synchronize(0, &err));
  OK(dlaunch_device_leave(again, &err));
  OK(dlaunch_device_leave(none, &err));
  OK(dlaunch_device_enter(0, &again, &err));
  CHECK(again == 0);
  OK(dlaunch_device_leave(0, &err));
  again = 7;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "does not exist", dlaunch_device_enter(count, &again, &err));
  CHECK(again == 7);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "former is NULL", dlaunch_device_enter(0, NULL, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "former is 0x1234", dlaunch_device_leave(0x1234, &err));
}

static void streams(int32_t device) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_stream stream = 7;
  uint64_t native;
  int32_t least = 99, greatest = 99, done = 7;
  OK(dlaunch_stream_priorities(device, &least, &greatest, &err));
  CHECK(greatest <= 0 && 0 <= least);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "(greatest)",
          dlaunch_stream_create_with_priority(device, 0, greatest - 1, &stream, &err));
  CHECK(stream == 0);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "(least)", dlaunch_stream_create_with_priority(device, 0, least + 1, &stream, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "flags 0x2", dlaunch_stream_create_with_priority(device, 2, 0, &stream, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "out is NULL", dlaunch_stream_create_with_priority(device, 0, 0, NULL, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "least is NULL", dlaunch_stream_priorities(device, NULL, &greatest, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "greatest is NULL", dlaunch_stream_priorities(device, &least, NULL, &err));
  OK(dlaunch_stream_create_with_priority(device, DLAUNCH_STREAM_NON_BLOCKING, greatest, &stream, &err));
  OK(dlaunch_stream_native(stream, &native, &err));
  OK(dlaunch_stream_synchronize(stream, &err));
  OK(dlaunch_stream_query(stream, &done, &err));
  CHECK(done == 1);
  OK(dlaunch_stream_query(native, &done, &err));
  OK(dlaunch_stream_query(2, &done, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "done is NULL", dlaunch_stream_query(0, NULL, &err));
  OK(dlaunch_stream_close(stream, &err));
  done = 7;
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_stream_query(stream, NULL, &err));
  CHECK(done == 7);
}

int main(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int32_t count = 0;
  OK(dlaunch_device_count(&count, &err));
  devices(count);
  streams(0);
  streams(count - 1);
  check_nothing_lives();
  return 0;
}
