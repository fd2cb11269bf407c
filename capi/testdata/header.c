/*
 * The header in whatever order it is included. The test defines HAS_VERSIONED
 * where the dlpack.h at hand knows DLManagedTensorVersioned.
 */
#ifdef DLPACK_FIRST
#include <dlpack/dlpack.h>
#endif
#include <dlaunch.h>
#ifdef DLPACK_LAST
#include <dlpack/dlpack.h>
#endif
#include <dlaunch.h>

#define SAME(name, condition) typedef char name[(condition) ? 1 : -1]
SAME(error_is_1024, sizeof(dlaunch_error) == 1024);
SAME(arg_is_16, sizeof(dlaunch_arg) == 16);
SAME(attribute_is_72, sizeof(dlaunch_attribute) == 72);
SAME(tensor_is_48, sizeof(DLTensor) == 48);
SAME(managed_is_64, sizeof(struct DLManagedTensor) == 64);
SAME(deleter_is_at_56, offsetof(struct DLManagedTensor, deleter) == 56);
#ifdef HAS_VERSIONED
SAME(versioned_is_80, sizeof(struct DLManagedTensorVersioned) == 80);
SAME(tensor_is_at_32, offsetof(struct DLManagedTensorVersioned, dl_tensor) == 32);
#endif

/* With external linkage and another name in each unit: two units must link. */
int UNIT(void);
int UNIT(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_driver_info_t info = DLAUNCH_DRIVER_INFO_INIT;
  dlaunch_library_options options = DLAUNCH_LIBRARY_OPTIONS_INIT;
  dlaunch_parameter parameter = DLAUNCH_PARAMETER_INIT;
  dlaunch_config config = DLAUNCH_CONFIG_INIT;
  struct DLManagedTensorVersioned *versioned = NULL;
  struct DLManagedTensor *managed = NULL;
  DLTensor tensor;
  tensor.device.device_type = kDLCPU;
  return err.struct_size == sizeof err && err.argument == -1 && info.struct_size == sizeof info &&
         options.struct_size == sizeof options && parameter.struct_size == sizeof parameter &&
         config.struct_size == sizeof config && config.num_attributes == 0 && versioned == NULL && managed == NULL &&
         tensor.device.device_type == kDLCPU;
}

#ifdef WITH_MAIN
int other(void);
int main(void) { return UNIT() && other() ? 0 : 1; }
#endif
