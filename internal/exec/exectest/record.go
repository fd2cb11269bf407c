// Package exectest stands in for a driver in the executor's tests: its launch
// keeps what it was given. It is C, since the executor calls C.
package exectest

/*
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

// CUlaunchConfig, as far as the tests look.
struct config { uint32_t grid[3], block[3], shared; uint64_t stream; const uint8_t *attributes; uint32_t num_attributes; };

static struct { struct config config; uint8_t params[32768]; uint64_t size; uintptr_t function; int32_t answer; } last;
static uint8_t attributes[16 * 72];
static _Atomic uint64_t launches;
static _Atomic uint32_t hold; // while set, a launch does not return
static _Atomic uint32_t fatal; // the next launch ends its thread

// dl_call and dl_range, which a simulated launch leaves behind the end of extra.
struct range { uint32_t argument, flags; uint64_t data, low, high; uint32_t dtype; };
struct call { uint64_t kernel; const struct range *ranges; uint32_t num_ranges; };
static struct range last_range;
static int simulated;

static int32_t record(const struct config *config, void *function, void **params, void **extra) {
	(void)params;
	atomic_fetch_add(&launches, 1);
	if (atomic_exchange(&fatal, 0)) pthread_exit(NULL);
	while (atomic_load(&hold)) {}
	if (last.answer == 0) {
		last.config = *config;
		last.function = (uintptr_t)function;
		last.size = extra[0] == (void *)1 ? *(size_t *)extra[3] : 0;
		if (last.size) memcpy(last.params, extra[1], last.size);
		if (simulated) last_range = *((struct call *)extra[last.size ? 5 : 1])->ranges;
		if (config->num_attributes) memcpy(attributes, config->attributes, 72 * config->num_attributes);
	}
	return last.answer;
}

// A launch that many threads may make at once: nothing is kept.
static int32_t count(const struct config *config, void *function, void **params, void **extra) {
	(void)config; (void)function; (void)params; (void)extra;
	atomic_fetch_add(&launches, 1);
	return 0;
}

// Weak, since this package is also linked without the executor.
extern int32_t dl_execute(uint64_t kernel, const void *config, const void *args, uint32_t num_args, const void *hooks,
                          void *fault) __attribute__((weak));
struct launch { uint64_t kernel; const void *config; };

static void *launch(void *of) {
	const struct launch *l = of;
	uint64_t fault[8];
	dl_execute(l->kernel, l->config, NULL, 0, NULL, fault);
	return NULL;
}

static int launch_and_die(uint64_t kernel, const void *config) {
	struct launch l = {kernel, config};
	pthread_t thread;
	atomic_store(&fatal, 1);
	return pthread_create(&thread, NULL, launch, &l) || pthread_join(thread, NULL);
}

static uintptr_t record_address(void) { return (uintptr_t)record; }
static uintptr_t count_address(void) { return (uintptr_t)count; }
static void set_hold(uint32_t on) { atomic_store(&hold, on); }
static void set_answer(int32_t code) { last.answer = code; }
static uint64_t count_launches(void) { return atomic_load(&launches); }
static void set_simulated(int on) { simulated = on; }
static struct range first_range(void) { return last_range; }
static void read_params(uint8_t *to) { memcpy(to, last.params, last.size); }
static uint64_t params_size(void) { return last.size; }
static struct config last_config(void) { return last.config; }
static uint8_t attribute(uint32_t i) { return attributes[i]; }
*/
import "C"

import "unsafe"

// Record is the address of a launch function that keeps its arguments.
func Record() uintptr { return uintptr(C.record_address()) }

// Count is the address of one that only counts, for many threads.
func Count() uintptr { return uintptr(C.count_address()) }

// Hold keeps launches inside the driver until it is called with false.
func Hold(on bool) {
	var word C.uint32_t
	if on {
		word = 1
	}
	C.set_hold(word)
}

// LaunchAndDie launches a kernel without arguments on a thread that ends inside
// the driver; config is a dlaunch_config.
func LaunchAndDie(kernel uint64, config unsafe.Pointer) bool {
	return C.launch_and_die(C.uint64_t(kernel), config) == 0
}

// Answer is the CUresult of launches from now on.
func Answer(code int32) { C.set_answer(C.int32_t(code)) }

// Launches counts them.
func Launches() uint64 { return uint64(C.count_launches()) }

// Params gives the last packed parameter buffer.
func Params() []byte {
	params := make([]byte, C.params_size())
	if len(params) > 0 {
		C.read_params((*C.uint8_t)(&params[0]))
	}
	return params
}

// Config gives the last configuration.
func Config() (grid, block [3]uint32, shared uint32, stream uint64, attributes int) {
	c := C.last_config()
	for i := range 3 {
		grid[i], block[i] = uint32(c.grid[i]), uint32(c.block[i])
	}
	return grid, block, uint32(c.shared), uint64(c.stream), int(c.num_attributes)
}

// Simulate says whether launches come with ranges.
func Simulate(on bool) {
	word := C.int(0)
	if on {
		word = 1
	}
	C.set_simulated(word)
}

// Range gives the bytes that the last launch's first tensor spans.
func Range() (data, low, high uint64) {
	r := C.first_range()
	return uint64(r.data), uint64(r.low), uint64(r.high)
}

// Attribute gives a byte of the last launch's attributes, 72 bytes each.
func Attribute(i int) byte { return byte(C.attribute(C.uint32_t(i))) }
