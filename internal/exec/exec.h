/*
 * The executor: what happens at every launch, in C. Go compiles a kernel's
 * parameters into a dl_program once; dl_execute runs it: it finds the kernel,
 * checks and packs the arguments, and calls the driver. It allocates nothing,
 * takes no lock, and never enters Go (on the simulator, whose launch is a Go
 * function, the driver's entry point does).
 *
 * What it refuses or cannot do itself comes back as a dl_fault: a reason and
 * numbers. Package launch words it, or mends it (stages a host tensor, raises a
 * limit) and calls again. So every check stands here, once.
 */
#ifndef DL_EXEC_H
#define DL_EXEC_H

#include <stdatomic.h>
#include <stdbool.h>

#include "dlaunch.h"

/* ---- attention: one word, read once per launch; any bit leaves the fast path */

enum {
  DL_FORKED = 1,    /* this process is a forked child: never enter Go */
  DL_EXITING = 2,   /* exit() has begun: the driver may be gone */
  DL_POISONED = 4,  /* a sticky fault: every launch fails at once */
  DL_UNLOADING = 8, /* a library is being unloaded: launches wait in Go */
  DL_TRACING = 16,  /* launches are logged, by Go, which then asks again */
};
extern _Atomic uint32_t dl_attention;

/* ---- the driver, as the executor sees it */

typedef struct dl_launch_config { /* CUlaunchConfig of cuda.h 12.0: 56 bytes */
  uint32_t grid[3], block[3], shared_bytes;
  uint64_t stream;
  const dlaunch_attribute *attributes; /* CUlaunchAttribute has the same layout */
  uint32_t num_attributes;
} dl_launch_config;

enum { DL_ATTRIBUTE_COOPERATIVE = 2, DL_ATTRIBUTE_CLUSTER = 4 }; /* CUlaunchAttributeID */

/* CUpointer_attribute, and CUmemorytype */
enum {
  DL_ALLOCATION_CONTEXT = 1,
  DL_ALLOCATION_MEMORY_TYPE = 2,
  DL_ALLOCATION_IS_MANAGED = 8,
  DL_ALLOCATION_DEVICE_ORDINAL = 9,
  DL_ALLOCATION_RANGE_START = 11,
  DL_ALLOCATION_RANGE_SIZE = 12,
  DL_ALLOCATION_POOL = 17,
};
enum { DL_MEMORY_HOST = 1, DL_MEMORY_DEVICE = 2 }; /* what MEMORY_TYPE gives */

enum { DL_MAX_DEVICES = 64, DL_MAX_ATTRIBUTES = 16, DL_MAX_SIZES = 64, DL_MAX_RANK = 64, DL_KNOWN_STREAMS = 4 };

typedef struct dl_driver {
  int32_t (*launch)(const dl_launch_config *, void *function, void **params, void **extra);
  int32_t (*ctx_get_current)(void **);
  int32_t (*ctx_set_current)(void *);
  int32_t (*ctx_get_device)(int32_t *);
  int32_t (*stream_get_ctx)(void *, void **);
  int32_t (*pointer_attributes)(uint32_t count, int32_t *ids, void **to, uint64_t address);
  int32_t (*stream_is_capturing)(void *, int32_t *);
  int32_t device_type; /* kDLCUDA, or kDLCPU on the simulator */
  bool is_plain;       /* launches need look at no memory: neither the simulator nor `checks` wants it */
  int32_t num_devices;
  uint32_t checks;                          /* DLAUNCH_CHECK_*, of every launch: what DLAUNCH_CHECK says */
  uint64_t memory_base;                     /* on the simulator: device memory is [base, base + size) */
  uint64_t memory_size;                     /* and every other address is the host's; 0 elsewhere */
  _Atomic(void *) contexts[DL_MAX_DEVICES]; /* primary contexts, once retained */
} dl_driver;
extern dl_driver dl_the_driver;

/* ---- what Go compiles */

enum dl_op {
  DL_OP_TENSOR = 1, /* a tensor that the prototype describes */
  DL_OP_SCALAR,     /* a number of the format below */
  DL_OP_POINTER,    /* `ptr`: a raw address, an integer, a null */
  DL_OP_BYTES,      /* `bytes(n)`: exactly that many */
  DL_OP_UNTYPED,    /* no prototype: size is known, the type may be */
};

enum dl_format { /* how a number lies in the parameter buffer */
                 DL_FORMAT_NONE = 0,
                 DL_FORMAT_BOOL,
                 DL_FORMAT_SIGNED,
                 DL_FORMAT_UNSIGNED,
                 DL_FORMAT_FLOAT,   /* f16, f32, f64 by size */
                 DL_FORMAT_BFLOAT,  /* bf16 */
                 DL_FORMAT_BITS,    /* b8 ... b64: an integer that fits signed or unsigned */
                 DL_FORMAT_ADDRESS, /* unprototyped 8 bytes: tensor, pointer or integer */
                 DL_FORMAT_OPAQUE,  /* complex, structs ...: only DLAUNCH_ARG_BYTES */
                 DL_FORMAT_FLOAT8,  /* and the six after it: f8e3m4 to f8e5m2fnuz, in the order of DLPack's codes */
};

enum {
  DL_NULLABLE = 1,   /* `?` */
  DL_WRITTEN = 2,    /* out or inout: READ_ONLY is refused */
  DL_READ = 4,       /* in or inout */
  DL_MARKED = 8,     /* a host tensor is welcome: the prototype is its mark */
  DL_FORTRAN = 16,   /* @fortran */
  DL_STRIDED = 32,   /* @strided: any layout */
  DL_OPEN_RANK = 64, /* `...`: rank is the least */
  DL_PEER = 128,     /* @peer: another device's memory is meant */
  DL_MULTIPLE = 256, /* @multiple: of the value of the step's one dim */
  DL_PLAIN = 512,    /* a C-contiguous pointer of one dtype, whose alignment is in `align`: the short way */
};

enum dl_form { /* how a tensor is passed */
               DL_FORM_POINTER = 0,
               DL_FORM_VIEW, /* dlaunch::view of dlaunch_device.cuh: pointer, int64 shape[], int64 strides[] in elements
                              */
               DL_FORM_NUMBA, /* numba-cuda's words: 0, 0, elements, item size, pointer, shape[], strides[] in bytes */
};

typedef struct dl_step { /* one argument of the caller */
  uint8_t op, format, form, rank;
  uint16_t flags, reserved;
  uint32_t offset, size; /* of the parameter, in the buffer, in bytes */
  uint32_t dtype;        /* DLDataType as code | bits << 8 | lanes << 16 */
  uint32_t dtype_mask;   /* the bits of dtype that count; 0 takes any */
  uint32_t align;        /* the address must be a multiple; a power of two; 0 for the item size */
  uint32_t dims;         /* index of the first of its `rank` dims (trailing ones after `...`) */
} dl_step;

typedef struct dl_dim { /* one extent that a prototype gives */
  int32_t size;         /* >= 0: the size variable; -1: `_`; -2: the constant below */
  int64_t value;
} dl_dim;

enum { DL_TERM_SIZE = 1, DL_TERM_PARAMETER, DL_TERM_STRIDE };

typedef struct dl_term { /* a factor of `= expr` */
  uint8_t kind, format;
  uint16_t index;  /* the size variable, or the step */
  uint32_t offset; /* PARAMETER: where it was packed ... */
  uint32_t width;  /* ... and how wide it is; STRIDE: the axis */
} dl_term;

typedef struct dl_derived { /* a parameter that is filled in, never passed */
  uint8_t format;
  uint8_t is_scratch; /* `scratch()`: the address of memory that Go allocates, `factor` bytes a block */
  uint32_t offset, size;
  int64_t factor, multiple; /* multiple: of which the value must be one, or 0 */
  uint32_t terms, num_terms;
} dl_derived;

typedef struct dl_limits { /* of one kernel on one device; Go fills it on demand */
  _Atomic uint32_t ready;
  uint32_t threads; /* the smaller of kernel's and device's */
  uint32_t block[3], grid[3];
  _Atomic uint32_t shared; /* dynamic shared memory that needs no opt-in now */
} dl_limits;

enum {
  DL_MAX_PARAMS = 32768,     /* bytes of the largest parameter buffer, and some more */
  DL_PLAIN_PARAMS = 512,     /* of that which launches on the straight way have */
  DL_CONSTANTS_AT_ONCE = 16, /* bytes: parameter buffers have room for a multiple */
  DL_FEW_SIZES = 8,          /* that are copied without counting: `sizes` has room for as many */
};

typedef struct dl_program {
  uint32_t num_steps, num_derived, num_sizes;
  uint32_t params_size;  /* end of the last parameter */
  bool has_constants;    /* or gaps: not every byte is written by a step or a derived parameter */
  bool is_plain;         /* small: DL_PLAIN_PARAMS and DL_FEW_SIZES have room for it */
  const uint8_t *params; /* the buffer's beginning: constants are in place */
  const dl_step *steps;
  const dl_dim *dims;
  const dl_derived *derived;
  const dl_term *terms;
  /* what bound arguments left, with their bytes in params */
  const int64_t *sizes;          /* the value of each size; -1 if a launch gives it */
  const struct dl_range *ranges; /* of bound tensors */
  uint32_t num_ranges;
  int32_t device; /* of bound tensors; -1 */
} dl_program;

/* ---- what handles of the hot path stand for: published in C, read lock-free */

typedef struct dl_object { /* the beginning of each */
  _Atomic uint64_t id;     /* the handle; 0 once closed */
} dl_object;

typedef struct dl_kernel {
  dl_object object;
  void *function; /* CUkernel or CUfunction */
  dl_program program;
  dl_limits *limits;     /* one for each device */
  struct dl_tensor *use; /* where it was launched, for all tensors that are bound to it; NULL without */
} dl_kernel;

/* A dlaunch_array or dlaunch_tensor: what a launch reads of one that is in order is in one cache
 * line, and in the next one, where its shape begins too. */
typedef struct dl_tensor {
  _Alignas(64) dl_object object;
  DLTensor tensor;
  bool in_order;              /* without flags, in C order, with elements, all of them surely within memory */
  _Atomic uint32_t elsewhere; /* DL_MORE_STREAMS, DL_OTHER_DEVICES, DL_LEFT */
  struct dl_tensor *owner;    /* whose memory it shows, and which remembers where that is used: itself, but of a view */
  _Atomic uint64_t streams[DL_KNOWN_STREAMS]; /* on which it was launched, as the caller gave them; DL_NO_STREAM */
  uint64_t flags;                             /* DLPACK_FLAG_BITMASK_* */
  int64_t axes[];                             /* the shape, then the strides */
} dl_tensor;

#define DL_NO_STREAM UINT64_MAX

enum {
  DL_MORE_STREAMS = 1,  /* it was launched on others too, for which there was no room */
  DL_OTHER_DEVICES = 2, /* a kernel of another device may use it (@peer) */
  DL_LEFT = 4,          /* it was in other hands, which have streams of their own */
};

typedef struct dl_stream {
  dl_object object;
  uint64_t native;
  int32_t device;
} dl_stream;

/* ---- a launch */

enum dl_reason {
  DL_OK = 0,
  DL_ATTENTION,      /* found: the attention word */
  DL_STALE_KERNEL,   /* the kernel handle names nothing that is open */
  DL_STALE_STREAM,   /* found: the dlaunch_stream */
  DL_STALE_ARGUMENT, /* found: the handle */
  DL_CONFIG,         /* no config, or its struct_size (found) is too small */
  DL_CONFIG_BITS,    /* found: flags that are unknown; or reserved is not 0 */
  DL_COUNT,          /* found, wanted: how many arguments */
  DL_ARGUMENTS,      /* args is NULL */
  DL_FLAGS,          /* found: unknown bits of the argument's flags */
  DL_KIND,           /* found: the argument's kind, which the parameter cannot take */
  DL_NULL,           /* a NULL pointer, or NONE where the parameter is not nullable */
  DL_VERSION,        /* found: DLPack major version */
  DL_RANGE,          /* an integer that the parameter cannot hold */
  DL_PRECISION,      /* an integer that the float cannot hold exactly, or a finite
                        number that would become infinite */
  DL_BYTES,          /* found, wanted: bytes */
  DL_DTYPE,
  DL_RANK,      /* found, wanted */
  DL_EXTENT,    /* axis; found, wanted */
  DL_NEGATIVE,  /* axis; found: a negative extent */
  DL_OVERFLOW,  /* axis: the elements cannot be counted in 63 bits */
  DL_LAYOUT,    /* axis; found, wanted: strides in elements */
  DL_OVERLAP,   /* axis; found: the stride of an output that writes one place twice */
  DL_NULL_DATA, /* NULL data with elements; found: how many, wanted: the address, which is below DL_FIRST_PAGE */
  DL_CROOKED,   /* the address of shape or strides is no multiple of 8 */
  DL_REACH,     /* found: the address from which elements lie past the end of memory */
  DL_ALIGNMENT, /* found: the address; wanted: bytes */
  DL_READ_ONLY,
  DL_DEVICE_TYPE,      /* found: DLDeviceType that this driver cannot reach */
  DL_DEVICE,           /* found, wanted: device numbers of tensors */
  DL_STREAM_DEVICE,    /* found: the stream's device, wanted: the tensors' */
  DL_POINTER_GONE,     /* found: the address, of which the driver knows no memory */
  DL_POINTER_MEMORY,   /* found, wanted: DL_MEMORY_* */
  DL_POINTER_DEVICE,   /* found: whose memory it is, wanted: whose the tensor says it is */
  DL_POINTER_RANGE,    /* axis: 0 before, 1 behind the allocation; found: bytes outside, wanted: its size */
  DL_POINTER_UNKNOWN,  /* driver_code: the driver could not be asked */
  DL_HOST,             /* a host tensor; found: 1 if it is marked in, out or inout */
  DL_DERIVED_RANGE,    /* axis: which derived parameter; found: its value */
  DL_DERIVED_OVERFLOW, /* axis: which derived parameter: its value needs more than 64 bits */
  DL_DERIVED_MULTIPLE, /* axis: which derived parameter; found: its value, wanted: a multiple of this */
  DL_SCRATCH,          /* axis: which derived parameter needs memory */
  DL_NOT_MULTIPLE,     /* found: the integer, wanted: a multiple of this */
  DL_UNBOUND,          /* axis: which derived parameter; found: the size that no tensor gave */
  DL_GRID,             /* axis; found, wanted: the limit */
  DL_BLOCK,            /* axis, or -1 for the product; found, wanted: the limit */
  DL_SHARED,           /* found, wanted: dynamic bytes that need no opt-in now */
  DL_CLUSTER,          /* axis; found: blocks in the grid, wanted: a multiple of this */
  DL_ATTRIBUTES,       /* found: too many launch attributes; wanted: the limit */
  DL_LIMITS,           /* found: device whose limits Go has not filled yet */
  DL_CAPTURED,         /* the stream is being captured: the graph must hold what is launched */
  DL_DRIVER,           /* driver_code: the driver refused the launch itself */
};

typedef struct dl_fault {
  int32_t reason;
  int32_t argument; /* the caller's, counted from 0; -1 */
  int32_t axis;
  int32_t driver_code;
  int64_t found, wanted;
} dl_fault;

/* Says in *fault why not (reason.c). What leads here is cold, so that the compiler lays the
 * other way out straight. */
__attribute__((cold)) void dl_say(dl_fault *fault, int32_t reason, int32_t axis, int64_t found, int64_t wanted);

/* The same, and gives the reason. */
static inline int32_t dl_refuse(dl_fault *fault, int32_t reason, int32_t axis, int64_t found, int64_t wanted) {
  dl_say(fault, reason, axis, found, wanted);
  return reason;
}

enum { DL_FIRST_PAGE = 4096 }; /* below are no tensors: such an address is NULL and an offset */

enum { DL_BOUND = 1u << 31 }; /* of an argument's number: it is that of a parameter, which is bound */

typedef struct dl_range { /* what an argument lets a kernel touch: for the simulator */
  uint32_t argument;
  uint32_t flags;     /* DL_READ, DL_WRITTEN */
  uint64_t data;      /* the first element's address */
  uint64_t low, high; /* [low, high) covers every element */
  uint32_t dtype;
} dl_range;

/*
 * dl_call is what a running launch is, for a driver that looks: its address
 * follows the end mark of the `extra` list, where libcuda does not read.
 */
typedef struct dl_call {
  uint64_t kernel; /* its handle */
  const dl_range *ranges;
  uint32_t num_ranges;
} dl_call;

/* Called round what may wait for the driver alone: Python lets its lock go there. With
 * `elsewhere`, which gives what call(what) does, that makes the call, on whatever thread. */
typedef struct dl_hooks {
  void *(*before)(void);
  void (*after)(void *);
  int32_t (*elsewhere)(int32_t (*call)(const void *), const void *what, const struct dl_hooks *hooks); /* or NULL */
} dl_hooks;

/*
 * dl_execute launches, or says in *fault why not and returns its reason. A
 * caller's memory is read before the driver's launch is called, never after.
 */
int32_t dl_execute(uint64_t kernel, const dlaunch_config *config, const dlaunch_arg *args, uint32_t num_args,
                   const dl_hooks *hooks, dl_fault *fault);

/* dl_execute for a launch that Go has mended; scratch has an address for each
 * derived parameter, or is NULL; held says that the graph which the launch may be
 * captured into holds what it needs. */
int32_t dl_execute_again(uint64_t kernel, const dlaunch_config *config, const dlaunch_arg *args, uint32_t num_args,
                         const uint64_t *scratch, bool held, dl_fault *fault);

/* What reports call a reason (reason.c). */
const char *dl_reason_name(int32_t reason);

/* The device that dl_execute would launch on, for staging what is not there yet:
 * DL_OK and *device, or why there is none: DL_STALE_KERNEL, DL_STALE_STREAM,
 * DL_STREAM_DEVICE. */
int32_t dl_device_of(uint64_t kernel, const dlaunch_config *config, const dlaunch_arg *args, uint32_t num_args,
                     int32_t *device, dl_fault *fault);

/* What a launch with this configuration on a device gives the driver, without its
 * stream, for questions about it; or why there would be no launch. */
typedef struct dl_configured {
  dl_launch_config config;
  dlaunch_attribute attributes[DL_MAX_ATTRIBUTES];
} dl_configured;
int32_t dl_configure(uint64_t kernel, const dlaunch_config *config, int32_t device, dl_configured *to, dl_fault *fault);

/*
 * dl_bind packs one argument for good: what a launch would write of it goes to
 * params and sizes, copies of the program's, and *bound. parameter is its number
 * in reports.
 */
typedef struct dl_bound {
  int32_t device; /* of all bound tensors; -1 */
  uint32_t num_ranges;
  dl_range range;
  int64_t strides[DL_MAX_RANK]; /* of the tensor, in elements */
} dl_bound;
int32_t dl_bind(const dl_kernel *kernel, uint32_t step, uint32_t parameter, const dlaunch_arg *arg, uint8_t *params,
                int64_t *sizes, dl_bound *bound, dl_fault *fault);

/* ---- publishing and closing what launches read (slots.c, section.c; hot.h) */

enum { DL_KIND_KERNEL = 2, DL_KIND_TENSOR = 3, DL_KIND_ARRAY = 4, DL_KIND_STREAM = 5 };

static inline uint64_t dl_kind(uint64_t handle) { return handle >> 48; }

/* dl_publish makes an object findable under its handle: false if out of memory. */
bool dl_publish(uint64_t handle, dl_object *object);
void dl_unpublish(uint64_t handle);

/*
 * A launch is a section: a thread's counter is odd inside. What was unpublished
 * may be freed once every thread that was inside then has left: readers pay two
 * plain stores, and the closer a membarrier.
 */
typedef struct dl_thread {
  _Alignas(64) _Atomic uint64_t section;
  _Atomic uint64_t fast; /* launches that needed nothing of Go */
  _Atomic uint32_t used;
  bool lacks_context; /* no context was current at its last launch that needed one */
  struct dl_thread *next;
} dl_thread;

/* dl_snapshot writes down who is inside a section now (at most max), after a
 * barrier, and gives how many are. */
typedef struct dl_reader {
  dl_thread *thread;
  uint64_t section;
} dl_reader;
uint32_t dl_snapshot(dl_reader *readers, uint32_t max);
bool dl_has_left(const dl_reader *reader);
uint64_t dl_fast_launches(void);

/* dl_driver_opened comes once the driver is open and before anything is published:
 * so exit() runs dlaunch's handler before the driver's own. */
void dl_driver_opened(void);

/*
 * What CUDA graphs hold (hold.c). A hold goes to the driver with a user object,
 * whose destructor is dl_hold_ends: that lists it, and dl_holds_ended gives the
 * list, of which dl_hold_take takes and frees the first.
 */
typedef struct dl_hold dl_hold;
dl_hold *dl_hold_new(uint64_t id); /* NULL if out of memory */
void dl_hold_ends(void *hold);
dl_hold *dl_holds_ended(void);
uint64_t dl_hold_take(dl_hold **list);

/* Packs a number: 0, DL_KIND, DL_RANGE, DL_PRECISION or DL_BYTES (scalar.c). */
int32_t dl_put_scalar(uint8_t *to, uint8_t format, uint32_t size, const dlaunch_arg *arg);
int32_t dl_put_integer(uint8_t *to, uint8_t format, uint32_t size, int64_t value);

/* The stride of an axis, in elements; that of an axis whose extent is at most 1
 * means nothing, so C order's stands in. False if it needs more than 63 bits. */
bool dl_stride_of(const DLTensor *tensor, int32_t axis, int64_t *stride);

/* Whether live memory of the right device holds a tensor's bytes (pointer.c). */
int32_t dl_check_pointer(const dl_range *range, const DLDevice *device, bool peer, dl_fault *fault);

/* Checks and packs one tensor (tensor.c). */
typedef struct dl_pack {
  const dl_kernel *kernel;
  uint8_t *params;
  int64_t *sizes;
  uint64_t stream;         /* as the caller gave it */
  int32_t device;          /* of the first device tensor; -1 */
  bool has_arrays;         /* dlaunch's own, or imported: it remembers where they are used */
  const uint64_t *scratch; /* an address for each derived parameter; NULL at first */
  dl_range *ranges;        /* NULL unless the launch is simulated */
  uint32_t num_ranges;
  bool checks_pointers;
} dl_pack;
int32_t dl_put_argument(dl_pack *pack, const dl_step *step, uint32_t index, const dlaunch_arg *arg, dl_fault *fault);
int32_t dl_put_tensor(dl_pack *pack, const dl_step *step, uint32_t index, const dlaunch_arg *arg, dl_fault *fault);
static inline bool dl_is_tensor(const dlaunch_arg *arg) {
  return (arg->kind >= DLAUNCH_ARG_TENSOR && arg->kind <= DLAUNCH_ARG_VERSIONED) || arg->kind == DLAUNCH_ARG_HANDLE;
}
/* The tensor of an argument: DL_OK, DL_KIND, DL_NULL, DL_VERSION, DL_STALE_ARGUMENT. */
int32_t dl_tensor_of(const dlaunch_arg *arg, const DLTensor **tensor, uint64_t *flags, dl_fault *fault);

#endif
