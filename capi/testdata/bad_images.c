/* What cannot be loaded, and what a library or a prototype does not have. */
#include "contract.h"

#include <unistd.h>

#define HEAD ".target sm_75\n.address_size 64\n"
#define BODY ".visible .entry k(.param .u32 a)\n{\n  ret;\n}\n"
#define BROKEN                  \
  "// one\n.version 7.0\n" HEAD \
  ".visible .entry k(.param .u32 a)\n{\n  .reg .b32 %r<2>;\n  frobnicate.u32 %r1, 7;\n  ret;\n}\n"
#define MISSPELT \
  ".version 7.0\n" HEAD ".visible .entry k(.param .u32 a)\n{\n  .reg .b32 %r<2>; ld.parm.u32 %r1, [a];\n  ret;\n}\n"

static const struct {
  const char *name, *image, *says, *also;
} bad_images[] = {
    {"nothing", "", "the image is empty", "a cubin or a fatbin is wanted"},
    {"no image", "this is no image at all\n", "this is no image", "no PTX text"},
    {"one byte", "x", "begins with \"x\"", "no PTX text"},
    {"a truncated ELF", "\177ELF\2\1\1", "the cubin is truncated", "7 bytes"},
    {"a modifier that is misspelt", MISSPELT, "line 6", "parm"},
    {"a line that is no PTX", BROKEN, "line 8", "frobnicate"},
    {"too new", ".version 99.0\n" HEAD BODY, "PTX 99.0", "needs a newer driver"},
    {"cut in the middle", ".version 7.0\n" HEAD ".visible .entry k(.param .u32 a)\n{\n  ret;\n", "INVALID_PTX (218)",
     "line 7"},
};

static void refused_image(const char *name, const char *image, size_t size, const char *says, const char *also) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = 7;
  dlaunch_status got = dlaunch_library_load(image, size, NULL, &library, &err);
  if (got != DLAUNCH_ERROR_IMAGE || strstr(err.message, says) == NULL || strstr(err.message, also) == NULL) {
    fprintf(stderr, "%s, %lu bytes\n  gave %s: %s\n  wanted IMAGE, \"%s\" and \"%s\"\n", name, (unsigned long)size,
            dlaunch_status_name(got), got == DLAUNCH_OK ? "" : err.message, says, also);
    exit(1);
  }
  CHECK(library == 0 && err.status == got && err.argument == -1);
}

/* A cubin of nvcc's, cut at every 64th byte, each in memory of just its size. */
static void cut_cubins(const char *folder) {
  char path[4096], whole[1 << 16];
  FILE *file;
  size_t size, cut;
  snprintf(path, sizeof path, "%s/saxpy_carried.cubin", folder);
  file = fopen(path, "rb");
  CHECK(file != NULL);
  size = fread(whole, 1, sizeof whole, file);
  fclose(file);
  CHECK(size > 4096 && size < sizeof whole);
  for (cut = 64; cut < size; cut += 64) {
    char *exact = (char *)malloc(cut);
    CHECK(exact != NULL);
    memcpy(exact, whole, cut);
    refused_image("a cut cubin", exact, cut, "dlaunch_library_load: the ", "");
    free(exact);
  }
}

static void images(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library_options options = DLAUNCH_LIBRARY_OPTIONS_INIT;
  dlaunch_library library;
  size_t i;
  for (i = 0; i < sizeof bad_images / sizeof *bad_images; i++) {
    refused_image(bad_images[i].name, bad_images[i].image, strlen(bad_images[i].image), bad_images[i].says,
                  bad_images[i].also);
  }
  library = 7;
  REFUSED(DLAUNCH_ERROR_NOT_FOUND, "/no/such/file.ptx",
          dlaunch_library_load_file("/no/such/file.ptx", NULL, &library, &err));
  CHECK(library == 0);
  options.struct_size = 0;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "struct_size", dlaunch_library_load(BODY, sizeof BODY - 1, &options, &library, &err));
  options.struct_size = offsetof(dlaunch_library_options, names) - 1; /* its first version ended there */
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "struct_size", dlaunch_library_load(BODY, sizeof BODY - 1, &options, &library, &err));
}

/* Nothing behind `size` bytes is read: the text here has no NUL, and goes on. */
static void exactly_size_bytes(void) {
  static const char text[] = ".version 7.0\n" HEAD BODY "and this is no PTX";
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  size_t size = sizeof text - sizeof "and this is no PTX";
  char *exact = (char *)malloc(size); /* for ASan and valgrind */
  dlaunch_library library = 0;
  CHECK(exact != NULL);
  memcpy(exact, text, size);
  OK(dlaunch_library_load(exact, size, NULL, &library, &err));
  memset(exact, 'x', size); /* it was copied */
  OK(dlaunch_kernel_close(get_kernel(library, "k(a: u32)"), &err));
  OK(dlaunch_library_close(library, &err));
  free(exact);
}

static const struct {
  const char *text;
  dlaunch_status status;
  const char *says;
} bad_texts[] = {
    {"saxpi", DLAUNCH_ERROR_NOT_FOUND, "saxpy"},
    {"saxpi(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)", DLAUNCH_ERROR_NOT_FOUND, "saxpy"},
    {"", DLAUNCH_ERROR_NOT_FOUND, ""},
    {"saxpy(a: f33, x: f32[n], y: inout f32[n], n: i32 = n)", DLAUNCH_ERROR_PROTOTYPE, "column 10"},
    {"saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = m)", DLAUNCH_ERROR_PROTOTYPE, "m"},
    {"saxpy(a: f32, x: f32[n], y: inout f32[n])", DLAUNCH_ERROR_PROTOTYPE, "3"},
    {"saxpy(a: f64, x: f32[n], y: inout f32[n], n: i32 = n)", DLAUNCH_ERROR_PROTOTYPE, "a"},
    {"saxpy(a: f32, x: f32[n], y: inout f32[n], n: i64 = n)", DLAUNCH_ERROR_PROTOTYPE, "n"},
};

static void texts(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = load_kernels(folder, "saxpy");
  dlaunch_parameter parameter = DLAUNCH_PARAMETER_INIT;
  dlaunch_kernel kernel;
  uint32_t count = 0;
  size_t needed = 0, i;
  char name[6] = "xxxxx";
  for (i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
    fprintf(stderr, "%s\n", bad_texts[i].text);
    kernel = 7;
    REFUSED(bad_texts[i].status, bad_texts[i].says, dlaunch_kernel_get(library, bad_texts[i].text, &kernel, &err));
    CHECK(kernel == 0);
  }
  OK(dlaunch_library_kernel_count(library, &count, &err));
  CHECK(count == 1);
  REFUSED(DLAUNCH_ERROR_NOT_FOUND, "", dlaunch_library_kernel_name(library, 1, NULL, 0, &needed, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "", dlaunch_library_kernel_name(library, 0, name, 5, &needed, &err));
  CHECK(needed == 6 && strcmp(name, "xxxxx") == 0);
  OK(dlaunch_library_kernel_name(library, 0, name, 6, &needed, &err));
  CHECK(strcmp(name, "saxpy") == 0);
  REFUSED(DLAUNCH_ERROR_NOT_FOUND, "hits", dlaunch_library_global(library, 0, "hits", (uint64_t *)name, &needed, &err));

  kernel = get_kernel(library, SAXPY);
  REFUSED(DLAUNCH_ERROR_NOT_FOUND, "4", dlaunch_kernel_parameter(kernel, 4, &parameter, &err));
  OK(dlaunch_kernel_parameter(kernel, 2, &parameter, &err));
  CHECK(strcmp(parameter.name, "y") == 0 && strcmp(parameter.type, "f32[n]") == 0);
  CHECK(parameter.offset == 16 && parameter.size == 8 && parameter.mode == (DLAUNCH_IN | DLAUNCH_OUT));
  OK(dlaunch_kernel_parameter(kernel, 3, &parameter, &err));
  CHECK(strcmp(parameter.name, "n") == 0 && parameter.offset == 24 && parameter.size == 4);
  parameter.struct_size = 0;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "struct_size", dlaunch_kernel_parameter(kernel, 0, &parameter, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
}

static void elsewhere(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_driver_info_t info = DLAUNCH_DRIVER_INFO_INIT;
  int32_t count = 0, value = 0;
  size_t room = 0, total = 0;
  int64_t huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40}, negative[1] = {-1}, most[1] = {INT64_C(1) << 46};
  dlaunch_array array = 7;
  dlaunch_stream stream = 7;
  OK(dlaunch_driver_info(&info, &err));
  CHECK(strcmp(info.kind, "sim") == 0 || strcmp(info.kind, "cuda") == 0);
  CHECK(info.reason[0] != 0);
  info.struct_size = 8;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "struct_size", dlaunch_driver_info(&info, &err));
  OK(dlaunch_device_count(&count, &err));
  CHECK(count > 0);
  OK(dlaunch_device_attribute(0, 1, &value, &err)); /* threads in a block */
  CHECK(value >= 1024);
  OK(dlaunch_memory_info(0, &room, &total, &err));
  CHECK(room > 0 && room <= total);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "", dlaunch_device_attribute(count, 1, &value, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "", dlaunch_memory_info(-1, &room, &total, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "", dlaunch_synchronize(count, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "", dlaunch_stream_create(count, 0, &stream, &err));
  CHECK(stream == 0);
  REFUSED(DLAUNCH_ERROR_UNSUPPORTED, "99999", dlaunch_device_attribute(0, 99999, &value, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "", dlaunch_array_create(0, dtype_of(kDLFloat, 32), 2, huge, &array, &err));
  CHECK(array == 0);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "-1", dlaunch_array_create(0, dtype_of(kDLFloat, 32), 1, negative, &array, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "", dlaunch_array_create(0, dtype_of(kDLFloat, 32), -1, negative, &array, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "", dlaunch_array_create(count, dtype_of(kDLFloat, 32), 0, NULL, &array, &err));
  REFUSED(DLAUNCH_ERROR_MEMORY, "", dlaunch_array_create(0, dtype_of(kDLFloat, 32), 1, most, &array, &err));
  array = make_array(4);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "16", dlaunch_array_write(array, huge, 15, 0, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "16", dlaunch_array_read(array, huge, 17, 0, &err));
  OK(dlaunch_array_close(array, &err));
}

/* A file's name may be any bytes; a message is UTF-8. */
static void name_in_latin_1(const char *folder) {
  char path[4096], link[] = "/tmp/dlaunch_caf\xe9_XXXXXX";
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = 0;
  dlaunch_kernel kernel = 7;
  snprintf(path, sizeof path, "%s/saxpy.ptx", folder);
  CHECK(mkdtemp(link) != NULL && rmdir(link) == 0 && symlink(path, link) == 0);
  OK(dlaunch_library_load_file(link, NULL, &library, &err));
  CHECK(dlaunch_kernel_get(library, "nonesuch", &kernel, &err) == DLAUNCH_ERROR_NOT_FOUND);
  CHECK(strstr(err.message, "dlaunch_caf\xef\xbf\xbd_") != NULL); /* the replacement character */
  CHECK(unlink(link) == 0);
  OK(dlaunch_library_close(library, &err));
}

/* A dlaunch_error that is too short is not written to. */
static void short_error(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int32_t count = -7;
  err.struct_size = 0;
  CHECK(dlaunch_device_count(&count, &err) == DLAUNCH_ERROR_ARGUMENT);
  err.struct_size = sizeof err - 1;
  CHECK(dlaunch_device_count(&count, &err) == DLAUNCH_ERROR_ARGUMENT);
  CHECK(count == -7 && err.status == 0 && err.message[0] == 0);
  CHECK(strcmp(dlaunch_status_name(DLAUNCH_ERROR_TENSOR), "DLAUNCH_ERROR_TENSOR") == 0);
  CHECK(strcmp(dlaunch_status_name(-1), "DLAUNCH_STATUS_UNKNOWN") == 0);
  CHECK(strcmp(dlaunch_status_name(15), "DLAUNCH_STATUS_UNKNOWN") == 0);
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  images();
  cut_cubins(argv[1]);
  exactly_size_bytes();
  texts(argv[1]);
  elsewhere();
  name_in_latin_1(argv[1]);
  short_error();
  check_nothing_lives();
  return 0;
}
