/* Events: their order, their times, and what they are not. */
#include "contract.h"

static dlaunch_kernel kernel;
static dlaunch_array array;

static void work(uint64_t stream) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_config config = make_config(1, 32);
  dlaunch_arg args[4];
  config.stream = stream;
  args[0] = arg_float(1);
  args[1] = args[2] = arg_handle(array);
  OK(dlaunch_launch(kernel, &config, args, 3, &err));
}

static void order_and_time(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_stream first, second;
  dlaunch_event start, end;
  float milliseconds = -1;
  int32_t done = 7;
  int i;
  OK(dlaunch_stream_create(0, DLAUNCH_STREAM_NON_BLOCKING, &first, &err));
  OK(dlaunch_stream_create(0, DLAUNCH_STREAM_NON_BLOCKING, &second, &err));
  OK(dlaunch_event_create(0, 0, &start, &err));
  OK(dlaunch_event_create(0, DLAUNCH_EVENT_BLOCKING, &end, &err));
  CHECK(start != 0 && end != start && start < (UINT64_C(1) << 53));
  CHECK(report_number("\"event\":") == 2);

  OK(dlaunch_event_query(start, &done, &err)); /* never recorded: passed */
  CHECK(done == 1);
  OK(dlaunch_event_wait(start, second, &err));
  OK(dlaunch_event_synchronize(start, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "start was never recorded", dlaunch_event_elapsed(start, end, &milliseconds, &err));
  CHECK(milliseconds == -1);

  OK(dlaunch_event_record(start, first, &err));
  for (i = 0; i < 20; i++) work(first);
  OK(dlaunch_event_record(end, first, &err));
  OK(dlaunch_event_wait(end, second, &err));
  work(second);
  OK(dlaunch_stream_synchronize(second, &err)); /* so the event is passed too */
  OK(dlaunch_event_query(end, &done, &err));
  CHECK(done == 1);
  OK(dlaunch_event_synchronize(end, &err));
  OK(dlaunch_event_elapsed(start, end, &milliseconds, &err));
  CHECK(milliseconds > 0 && milliseconds < 60000);
  OK(dlaunch_event_elapsed(end, start, &milliseconds, &err));
  CHECK(milliseconds < 0);

  for (i = 0; i < 3; i++) { /* on the default streams; again; closed while recorded */
    OK(dlaunch_event_record(end, (uint64_t)i, &err));
    OK(dlaunch_event_wait(end, (uint64_t)i, &err));
  }
  OK(dlaunch_stream_close(first, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_event_record(end, first, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_event_wait(end, first, &err));
  OK(dlaunch_event_close(start, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_event_elapsed(end, start, &milliseconds, &err));
  OK(dlaunch_retire(end, &err));
  OK(dlaunch_stream_close(second, &err));
}

static void refusals(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_event timed, timeless, out = 7;
  float milliseconds;
  int32_t devices;
  OK(dlaunch_device_count(&devices, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "does not exist", dlaunch_event_create(devices, 0, &out, &err));
  CHECK(out == 0);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "flags 0x4", dlaunch_event_create(0, 4, &out, &err));
  OK(dlaunch_event_create(0, 0, &timed, &err));
  OK(dlaunch_event_create(0, DLAUNCH_EVENT_NO_TIMING, &timeless, &err));
  OK(dlaunch_event_record(timed, 0, &err));
  OK(dlaunch_event_record(timeless, 0, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "end was created", dlaunch_event_elapsed(timed, timeless, &milliseconds, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "is an event", dlaunch_array_close(timed, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "is an array", dlaunch_event_close(array, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "", dlaunch_event_record(timed, timed, &err)); /* no stream */
  OK(dlaunch_event_close(timed, &err));
  OK(dlaunch_event_close(timeless, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_event_synchronize(timed, &err));
}

int main(int argc, char **argv) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library;
  CHECK(argc > 1);
  library = load_kernels(argv[1], "saxpy");
  kernel = get_kernel(library, SAXPY);
  array = make_array(32);
  order_and_time();
  refusals();
  OK(dlaunch_array_close(array, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
  check_nothing_lives();
  return 0;
}
