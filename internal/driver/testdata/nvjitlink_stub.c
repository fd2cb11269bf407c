/*
 * A libnvJitLink.so for the tests of package driver: what it links is the account
 * of how it was asked to. -frob is no option of its, and an input called bad is
 * refused with a log. -DWITHOUT_PTX leaves one function out, as old versions do.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct linker {
  char account[256], log[64];
  int ptx;
} linker;

#define ACCOUNT(l, ...) \
  snprintf((l)->account + strlen((l)->account), sizeof(l)->account - strlen((l)->account), __VA_ARGS__)

int nvJitLinkCreate(linker **out, uint32_t n, const char **options) {
  linker *l = *out = calloc(1, sizeof *l);
  for (uint32_t i = 0; i < n; i++) {
    if (strcmp(options[i], "-frob") == 0) return free(l), 1;
    l->ptx |= strcmp(options[i], "-ptx") == 0;
    ACCOUNT(l, "%s ", options[i]);
  }
  return 0;
}

int nvJitLinkAddData(linker *l, int kind, const char *data, size_t size, const char *name) {
  if (strcmp(name, "bad") == 0) return strcpy(l->log, "bad input"), 3;
  ACCOUNT(l, "%d,%u,%s,%d ", kind, (unsigned)size, name, data[size - 1]);
  return 0;
}

int nvJitLinkComplete(linker *l) {
  strcpy(l->log, "a note\n");
  return strstr(l->account, "unresolved") != NULL ? 5 : 0;
}
int nvJitLinkDestroy(linker **l) { return free(*l), *l = NULL, 0; }

int nvJitLinkGetErrorLogSize(linker *l, size_t *size) { return (void)l, *size = 0, 0; }
int nvJitLinkGetErrorLog(linker *l, char *log) { return (void)l, (void)log, 3; }
int nvJitLinkGetInfoLogSize(linker *l, size_t *size) { return *size = strlen(l->log) + 1, 0; }
int nvJitLinkGetInfoLog(linker *l, char *log) { return strcpy(log, l->log), 0; }
int nvJitLinkGetLinkedCubinSize(linker *l, size_t *size) { return *size = strlen(l->account), l->ptx ? 6 : 0; }
int nvJitLinkGetLinkedCubin(linker *l, char *image) { return memcpy(image, l->account, strlen(l->account)), 0; }
#ifndef WITHOUT_PTX
int nvJitLinkGetLinkedPtxSize(linker *l, size_t *size) { return *size = strlen(l->account), l->ptx ? 0 : 3; }
int nvJitLinkGetLinkedPtx(linker *l, char *image) { return memcpy(image, l->account, strlen(l->account)), 0; }
#endif
