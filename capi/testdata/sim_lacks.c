/*
 * An instruction of the PTX ISA that the simulator lacks is an error at load that
 * names it and its line. (A GPU takes this image.)
 */
#include "contract.h"

int main(void) {
  static const char image[] =
      ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 t)\n{\n"
      "  .reg .b32 %r<6>;\n  .reg .b64 %rd<2>;\n  ld.param.u64 %rd1, [t];\n  mov.u32 %r5, 0;\n"
      "  tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];\n  ret;\n}\n";
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = 7;
  REFUSED(DLAUNCH_ERROR_UNSUPPORTED, "PTX line 10 (tex.1d.v4.u32.s32): the simulator lacks this instruction",
          dlaunch_library_load(image, sizeof image - 1, NULL, &library, &err));
  CHECK(library == 0);
  check_nothing_lives();
  return 0;
}
