/* Prints the layout of every public struct: Go's and Python's are held against it. */
#include "contract.h"

#define SIZE(type) printf("%s %zu\n", #type, sizeof(type))
#define FIELD(type, field) printf("%s.%s %zu %zu\n", #type, #field, offsetof(type, field), sizeof(((type *)0)->field))

int main(void) {
  SIZE(dlaunch_error);
  FIELD(dlaunch_error, struct_size);
  FIELD(dlaunch_error, status);
  FIELD(dlaunch_error, driver_code);
  FIELD(dlaunch_error, argument);
  FIELD(dlaunch_error, message);
  SIZE(dlaunch_driver_info_t);
  FIELD(dlaunch_driver_info_t, struct_size);
  FIELD(dlaunch_driver_info_t, version);
  FIELD(dlaunch_driver_info_t, devices);
  FIELD(dlaunch_driver_info_t, kind);
  FIELD(dlaunch_driver_info_t, path);
  FIELD(dlaunch_driver_info_t, reason);
  SIZE(dlaunch_library_options);
  FIELD(dlaunch_library_options, struct_size);
  FIELD(dlaunch_library_options, flags);
  FIELD(dlaunch_library_options, log);
  FIELD(dlaunch_library_options, log_size);
  FIELD(dlaunch_library_options, jit_options);
  FIELD(dlaunch_library_options, jit_values);
  FIELD(dlaunch_library_options, num_jit_options);
  FIELD(dlaunch_library_options, reserved);
  SIZE(dlaunch_parameter);
  FIELD(dlaunch_parameter, struct_size);
  FIELD(dlaunch_parameter, index);
  FIELD(dlaunch_parameter, name);
  FIELD(dlaunch_parameter, type);
  FIELD(dlaunch_parameter, offset);
  FIELD(dlaunch_parameter, size);
  FIELD(dlaunch_parameter, mode);
  FIELD(dlaunch_parameter, reserved);
  SIZE(dlaunch_arg);
  FIELD(dlaunch_arg, kind);
  FIELD(dlaunch_arg, flags);
  FIELD(dlaunch_arg, size);
  FIELD(dlaunch_arg, value);
  SIZE(dlaunch_attribute);
  FIELD(dlaunch_attribute, id);
  FIELD(dlaunch_attribute, reserved);
  FIELD(dlaunch_attribute, value);
  SIZE(dlaunch_config);
  FIELD(dlaunch_config, struct_size);
  FIELD(dlaunch_config, grid);
  FIELD(dlaunch_config, block);
  FIELD(dlaunch_config, cluster);
  FIELD(dlaunch_config, shared_bytes);
  FIELD(dlaunch_config, flags);
  FIELD(dlaunch_config, stream);
  FIELD(dlaunch_config, attributes);
  FIELD(dlaunch_config, num_attributes);
  FIELD(dlaunch_config, reserved);
  SIZE(DLDevice);
  FIELD(DLDevice, device_type);
  FIELD(DLDevice, device_id);
  SIZE(DLDataType);
  FIELD(DLDataType, code);
  FIELD(DLDataType, bits);
  FIELD(DLDataType, lanes);
  SIZE(DLTensor);
  FIELD(DLTensor, data);
  FIELD(DLTensor, device);
  FIELD(DLTensor, ndim);
  FIELD(DLTensor, dtype);
  FIELD(DLTensor, shape);
  FIELD(DLTensor, strides);
  FIELD(DLTensor, byte_offset);
  SIZE(DLManagedTensor);
  FIELD(DLManagedTensor, dl_tensor);
  FIELD(DLManagedTensor, manager_ctx);
  FIELD(DLManagedTensor, deleter);
  SIZE(DLPackVersion);
  FIELD(DLPackVersion, major);
  FIELD(DLPackVersion, minor);
  SIZE(DLManagedTensorVersioned);
  FIELD(DLManagedTensorVersioned, version);
  FIELD(DLManagedTensorVersioned, manager_ctx);
  FIELD(DLManagedTensorVersioned, deleter);
  FIELD(DLManagedTensorVersioned, flags);
  FIELD(DLManagedTensorVersioned, dl_tensor);
  return 0;
}
