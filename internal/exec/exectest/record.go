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

// Contexts are numbers whose last two digits are their device's.
static uintptr_t context, last_context; // the current one, and the last launch's
static int32_t get_current(void **to) { *to = (void *)context; return 0; }
static int32_t set_current(void *to) { context = (uintptr_t)to; return 0; }
static int32_t get_device(int32_t *to) { *to = (int32_t)(context % 100); return context == 0 ? 201 : 0; }
static void enter(uintptr_t number) { context = number; }
static uintptr_t entered(void) { return context; }
static uintptr_t last_entered(void) { return last_context; }
static uintptr_t get_current_address(void) { return (uintptr_t)get_current; }
static uintptr_t set_current_address(void) { return (uintptr_t)set_current; }
static uintptr_t get_device_address(void) { return (uintptr_t)get_device; }

static int32_t record(const struct config *config, void *function, void **params, void **extra) {
	(void)params;
	atomic_fetch_add(&launches, 1);
	last_context = context;
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

// cuStreamIsCapturing, of which one stream may be captured.
static _Atomic uint64_t captured;
static _Atomic int32_t capture_status;
static _Atomic uint64_t asked;

static int32_t is_capturing(void *stream, int32_t *status) {
	atomic_fetch_add(&asked, 1);
	*status = (uintptr_t)stream == atomic_load(&captured) ? atomic_load(&capture_status) : 0;
	return 0;
}

// A thread of the driver's, which calls the destructor of a user object.
struct object { void (*destroy)(void *); void *data; };

static void *destroy(void *of) {
	struct object *o = of;
	o->destroy(o->data);
	return NULL;
}

static int destroy_elsewhere(uintptr_t function, uintptr_t data) {
	struct object o = {(void (*)(void *))function, (void *)data};
	pthread_t thread;
	return pthread_create(&thread, NULL, destroy, &o) || pthread_join(thread, NULL);
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

// The memory that cuPointerGetAttributes knows.
static struct memory { uint64_t start, size; uint32_t type, managed; int32_t device; uint64_t context, hole; } memories[4];
static int32_t look_up_answer;

static int32_t look_up(uint32_t count, const int32_t *ids, void **to, uint64_t address) {
	for (int m = 0; m < 4; m++) {
		if (address - memories[m].start >= memories[m].size || address >= memories[m].hole) continue;
		for (uint32_t i = 0; i < count; i++) {
			switch (ids[i]) {
			case 1: *(uint64_t *)to[i] = memories[m].context; break;
			case 2: *(uint32_t *)to[i] = memories[m].type; break;
			case 8: *(uint32_t *)to[i] = memories[m].managed; break;
			case 9: *(int32_t *)to[i] = memories[m].device; break;
			case 11: *(uint64_t *)to[i] = memories[m].start; break;
			case 12: *(uint64_t *)to[i] = memories[m].size; break;
			}
		}
	}
	return look_up_answer;
}
static uintptr_t look_up_address(void) { return (uintptr_t)look_up; }
static void know(int index, struct memory m) { memories[index] = m; }
static void answer_look_ups(int32_t code) { look_up_answer = code; }

static uintptr_t record_address(void) { return (uintptr_t)record; }
static uintptr_t is_capturing_address(void) { return (uintptr_t)is_capturing; }
static void capture(uint64_t stream, int32_t status) { atomic_store(&captured, stream); atomic_store(&capture_status, status); }
static uint64_t count_asked(void) { return atomic_load(&asked); }
static uintptr_t count_address(void) { return (uintptr_t)count; }
static void set_hold(uint32_t on) { atomic_store(&hold, on); }
static void set_answer(int32_t code) { last.answer = code; }
static uint64_t count_launches(void) { return atomic_load(&launches); }
static void set_simulated(int on) { simulated = on; }
static struct range first_range(void) { return last_range; }
static void read_params(uint8_t *to) { memcpy(to, last.params, last.size); }
static uint64_t params_size(void) { return last.size; }
static struct config last_config(void) { return last.config; }
static uintptr_t last_function(void) { return last.function; }
static uint8_t attribute(uint32_t i) { return attributes[i]; }
*/
import "C"

import "unsafe"

// Record is the address of a launch function that keeps its arguments.
func Record() uintptr { return uintptr(C.record_address()) }

// Memory is one allocation that LookUp knows.
type Memory struct {
	Start, Size uint64
	Type        uint32 // CUmemorytype: 1 host, 2 device
	Managed     bool
	Device      int32
	Mapped      bool   // by cuMemMap: without a context
	Hole        uint64 // from where on nothing is mapped; 0: all is
}

// LookUp is the address of a function like cuPointerGetAttributes, which knows of
// the memory given to Know.
func LookUp() uintptr { return uintptr(C.look_up_address()) }

// Know replaces all memory that LookUp knows: at most four.
func Know(memories ...Memory) {
	for i := range 4 {
		var c C.struct_memory
		if i < len(memories) {
			m := memories[i]
			c = C.struct_memory{start: C.uint64_t(m.Start), size: C.uint64_t(m.Size), _type: C.uint32_t(m.Type), device: C.int32_t(m.Device), context: 1}
			if m.Managed {
				c.managed = 1
			}
			if m.Mapped {
				c.context = 0
			}
			if c.hole = C.uint64_t(m.Hole); m.Hole == 0 {
				c.hole = 1<<64 - 1
			}
		}
		C.know(C.int(i), c)
	}
}

// AnswerLookUps is the CUresult of LookUp from now on.
func AnswerLookUps(code int32) { C.answer_look_ups(C.int32_t(code)) }

// Count is the address of one that only counts, for many threads.
func Count() uintptr { return uintptr(C.count_address()) }

// IsCapturing is the address of a cuStreamIsCapturing that answers what Capture says.
func IsCapturing() uintptr { return uintptr(C.is_capturing_address()) }

// Capture gives one stream a CUstreamCaptureStatus: 0 none, 1 active, 2 invalidated.
func Capture(stream uint64, status int32) { C.capture(C.uint64_t(stream), C.int32_t(status)) }

// CaptureQuestions counts the calls of IsCapturing.
func CaptureQuestions() uint64 { return uint64(C.count_asked()) }

// Destroy calls a user object's destructor on another thread, and waits for that.
func Destroy(destructor, data uintptr) bool {
	return C.destroy_elsewhere(C.uintptr_t(destructor), C.uintptr_t(data)) == 0
}

// Contexts are the addresses of cuCtxGetCurrent, cuCtxSetCurrent and cuCtxGetDevice,
// for contexts whose last two digits are their device's.
func Contexts() (get, set, device uintptr) {
	return uintptr(C.get_current_address()), uintptr(C.set_current_address()), uintptr(C.get_device_address())
}

// Enter makes a context current.
func Enter(context uintptr) { C.enter(C.uintptr_t(context)) }

// Entered gives the current context, and that of the last launch.
func Entered() (current, last uintptr) { return uintptr(C.entered()), uintptr(C.last_entered()) }

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

// Function is what the last launch ran.
func Function() uintptr { return uintptr(C.last_function()) }

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
