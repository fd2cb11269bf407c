package driver

import "fmt"

// Result is a CUresult. Names and texts stand here, since cuGetErrorName fails for
// codes newer than the driver, and needs one.
type Result int32

// The results of cuda.h 13.0.
const (
	ResultSuccess                      Result = 0
	ResultInvalidValue                 Result = 1
	ResultOutOfMemory                  Result = 2
	ResultNotInitialized               Result = 3
	ResultDeinitialized                Result = 4
	ResultProfilerDisabled             Result = 5
	ResultProfilerNotInitialized       Result = 6
	ResultProfilerAlreadyStarted       Result = 7
	ResultProfilerAlreadyStopped       Result = 8
	ResultStubLibrary                  Result = 34
	ResultCallRequiresNewerDriver      Result = 36
	ResultDeviceUnavailable            Result = 46
	ResultNoDevice                     Result = 100
	ResultInvalidDevice                Result = 101
	ResultDeviceNotLicensed            Result = 102
	ResultInvalidImage                 Result = 200
	ResultInvalidContext               Result = 201
	ResultContextAlreadyCurrent        Result = 202
	ResultMapFailed                    Result = 205
	ResultUnmapFailed                  Result = 206
	ResultArrayIsMapped                Result = 207
	ResultAlreadyMapped                Result = 208
	ResultNoBinaryForGPU               Result = 209
	ResultAlreadyAcquired              Result = 210
	ResultNotMapped                    Result = 211
	ResultNotMappedAsArray             Result = 212
	ResultNotMappedAsPointer           Result = 213
	ResultECCUncorrectable             Result = 214
	ResultUnsupportedLimit             Result = 215
	ResultContextAlreadyInUse          Result = 216
	ResultPeerAccessUnsupported        Result = 217
	ResultInvalidPTX                   Result = 218
	ResultInvalidGraphicsContext       Result = 219
	ResultNVLinkUncorrectable          Result = 220
	ResultJITCompilerNotFound          Result = 221
	ResultUnsupportedPTXVersion        Result = 222
	ResultJITCompilationDisabled       Result = 223
	ResultUnsupportedExecAffinity      Result = 224
	ResultUnsupportedDevsideSync       Result = 225
	ResultContained                    Result = 226
	ResultInvalidSource                Result = 300
	ResultFileNotFound                 Result = 301
	ResultSharedObjectSymbolNotFound   Result = 302
	ResultSharedObjectInitFailed       Result = 303
	ResultOperatingSystem              Result = 304
	ResultInvalidHandle                Result = 400
	ResultIllegalState                 Result = 401
	ResultLossyQuery                   Result = 402
	ResultNotFound                     Result = 500
	ResultNotReady                     Result = 600
	ResultIllegalAddress               Result = 700
	ResultLaunchOutOfResources         Result = 701
	ResultLaunchTimeout                Result = 702
	ResultLaunchIncompatibleTexturing  Result = 703
	ResultPeerAccessAlreadyEnabled     Result = 704
	ResultPeerAccessNotEnabled         Result = 705
	ResultPrimaryContextActive         Result = 708
	ResultContextIsDestroyed           Result = 709
	ResultAssert                       Result = 710
	ResultTooManyPeers                 Result = 711
	ResultHostMemoryAlreadyRegistered  Result = 712
	ResultHostMemoryNotRegistered      Result = 713
	ResultHardwareStackError           Result = 714
	ResultIllegalInstruction           Result = 715
	ResultMisalignedAddress            Result = 716
	ResultInvalidAddressSpace          Result = 717
	ResultInvalidPC                    Result = 718
	ResultLaunchFailed                 Result = 719
	ResultCooperativeLaunchTooLarge    Result = 720
	ResultTensorMemoryLeak             Result = 721
	ResultNotPermitted                 Result = 800
	ResultNotSupported                 Result = 801
	ResultSystemNotReady               Result = 802
	ResultSystemDriverMismatch         Result = 803
	ResultCompatNotSupportedOnDevice   Result = 804
	ResultMPSConnectionFailed          Result = 805
	ResultMPSRPCFailure                Result = 806
	ResultMPSServerNotReady            Result = 807
	ResultMPSMaxClientsReached         Result = 808
	ResultMPSMaxConnectionsReached     Result = 809
	ResultMPSClientTerminated          Result = 810
	ResultCDPNotSupported              Result = 811
	ResultCDPVersionMismatch           Result = 812
	ResultStreamCaptureUnsupported     Result = 900
	ResultStreamCaptureInvalidated     Result = 901
	ResultStreamCaptureMerge           Result = 902
	ResultStreamCaptureUnmatched       Result = 903
	ResultStreamCaptureUnjoined        Result = 904
	ResultStreamCaptureIsolation       Result = 905
	ResultStreamCaptureImplicit        Result = 906
	ResultCapturedEvent                Result = 907
	ResultStreamCaptureWrongThread     Result = 908
	ResultTimeout                      Result = 909
	ResultGraphExecUpdateFailure       Result = 910
	ResultExternalDevice               Result = 911
	ResultInvalidClusterSize           Result = 912
	ResultFunctionNotLoaded            Result = 913
	ResultInvalidResourceType          Result = 914
	ResultInvalidResourceConfiguration Result = 915
	ResultKeyRotation                  Result = 916
	ResultUnknown                      Result = 999
)

// resultWords has the name that cuda.h has for a code, and what it means.
var resultWords = map[Result]struct{ name, text string }{
	ResultSuccess:                      {"CUDA_SUCCESS", "no error"},
	ResultInvalidValue:                 {"CUDA_ERROR_INVALID_VALUE", "an argument is out of its range"},
	ResultOutOfMemory:                  {"CUDA_ERROR_OUT_OF_MEMORY", "the device has not enough free memory"},
	ResultNotInitialized:               {"CUDA_ERROR_NOT_INITIALIZED", "cuInit has not been called, or not in this process"},
	ResultDeinitialized:                {"CUDA_ERROR_DEINITIALIZED", "the driver is shutting down"},
	ResultProfilerDisabled:             {"CUDA_ERROR_PROFILER_DISABLED", "profiling is switched off"},
	ResultProfilerNotInitialized:       {"CUDA_ERROR_PROFILER_NOT_INITIALIZED", "profiling was never set up"},
	ResultProfilerAlreadyStarted:       {"CUDA_ERROR_PROFILER_ALREADY_STARTED", "profiling runs already"},
	ResultProfilerAlreadyStopped:       {"CUDA_ERROR_PROFILER_ALREADY_STOPPED", "profiling has stopped already"},
	ResultStubLibrary:                  {"CUDA_ERROR_STUB_LIBRARY", "this libcuda is the toolkit's stub for linking, not a driver"},
	ResultCallRequiresNewerDriver:      {"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the call needs a newer driver"},
	ResultDeviceUnavailable:            {"CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is in exclusive use by another process"},
	ResultNoDevice:                     {"CUDA_ERROR_NO_DEVICE", "no CUDA device was found"},
	ResultInvalidDevice:                {"CUDA_ERROR_INVALID_DEVICE", "there is no device of that number"},
	ResultDeviceNotLicensed:            {"CUDA_ERROR_DEVICE_NOT_LICENSED", "the GPU has no licence (vGPU, GRID)"},
	ResultInvalidImage:                 {"CUDA_ERROR_INVALID_IMAGE", "the image is not one that the driver knows"},
	ResultInvalidContext:               {"CUDA_ERROR_INVALID_CONTEXT", "no context is current, or it is gone"},
	ResultContextAlreadyCurrent:        {"CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "the context is current already"},
	ResultMapFailed:                    {"CUDA_ERROR_MAP_FAILED", "memory could not be mapped"},
	ResultUnmapFailed:                  {"CUDA_ERROR_UNMAP_FAILED", "memory could not be unmapped"},
	ResultArrayIsMapped:                {"CUDA_ERROR_ARRAY_IS_MAPPED", "the array is mapped"},
	ResultAlreadyMapped:                {"CUDA_ERROR_ALREADY_MAPPED", "the resource is mapped already"},
	ResultNoBinaryForGPU:               {"CUDA_ERROR_NO_BINARY_FOR_GPU", "the image holds no code for this GPU"},
	ResultAlreadyAcquired:              {"CUDA_ERROR_ALREADY_ACQUIRED", "the resource is in use already"},
	ResultNotMapped:                    {"CUDA_ERROR_NOT_MAPPED", "the resource is not mapped"},
	ResultNotMappedAsArray:             {"CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "the resource is not mapped as an array"},
	ResultNotMappedAsPointer:           {"CUDA_ERROR_NOT_MAPPED_AS_POINTER", "the resource is not mapped as memory"},
	ResultECCUncorrectable:             {"CUDA_ERROR_ECC_UNCORRECTABLE", "the GPU met a memory error that it could not correct"},
	ResultUnsupportedLimit:             {"CUDA_ERROR_UNSUPPORTED_LIMIT", "the device does not have this limit"},
	ResultContextAlreadyInUse:          {"CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "another thread uses the context"},
	ResultPeerAccessUnsupported:        {"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "these two devices cannot reach each other's memory"},
	ResultInvalidPTX:                   {"CUDA_ERROR_INVALID_PTX", "the PTX does not compile"},
	ResultInvalidGraphicsContext:       {"CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "the OpenGL or DirectX context is not valid"},
	ResultNVLinkUncorrectable:          {"CUDA_ERROR_NVLINK_UNCORRECTABLE", "NVLink met an error that it could not correct"},
	ResultJITCompilerNotFound:          {"CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "libnvidia-ptxjitcompiler.so.1, a part of the driver, was not found"},
	ResultUnsupportedPTXVersion:        {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is newer than the driver"},
	ResultJITCompilationDisabled:       {"CUDA_ERROR_JIT_COMPILATION_DISABLED", "compiling PTX is switched off (CUDA_DISABLE_PTX_JIT)"},
	ResultUnsupportedExecAffinity:      {"CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "the device cannot run on the share of its processors that was asked"},
	ResultUnsupportedDevsideSync:       {"CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", "the PTX waits for kernels that a kernel launched, which this GPU cannot"},
	ResultContained:                    {"CUDA_ERROR_CONTAINED", "the GPU met a memory error and contained it to this process"},
	ResultInvalidSource:                {"CUDA_ERROR_INVALID_SOURCE", "the source of the kernel is not valid"},
	ResultFileNotFound:                 {"CUDA_ERROR_FILE_NOT_FOUND", "the file was not found"},
	ResultSharedObjectSymbolNotFound:   {"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "a shared library lacks a function"},
	ResultSharedObjectInitFailed:       {"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "a shared library could not be initialised"},
	ResultOperatingSystem:              {"CUDA_ERROR_OPERATING_SYSTEM", "a call of the operating system failed"},
	ResultInvalidHandle:                {"CUDA_ERROR_INVALID_HANDLE", "a handle is not valid (any more)"},
	ResultIllegalState:                 {"CUDA_ERROR_ILLEGAL_STATE", "a resource is not in a state for this"},
	ResultLossyQuery:                   {"CUDA_ERROR_LOSSY_QUERY", "the answer would lose information"},
	ResultNotFound:                     {"CUDA_ERROR_NOT_FOUND", "there is nothing of that name"},
	ResultNotReady:                     {"CUDA_ERROR_NOT_READY", "the work is not done yet"},
	ResultIllegalAddress:               {"CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel used an address that it may not"},
	ResultLaunchOutOfResources:         {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the launch needs more registers, threads or parameters than there are"},
	ResultLaunchTimeout:                {"CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel ran longer than the display allows"},
	ResultLaunchIncompatibleTexturing:  {"CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", "the kernel's texture mode does not fit"},
	ResultPeerAccessAlreadyEnabled:     {"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is on already"},
	ResultPeerAccessNotEnabled:         {"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access is off"},
	ResultPrimaryContextActive:         {"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is in use already"},
	ResultContextIsDestroyed:           {"CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context was destroyed, or its primary context reset"},
	ResultAssert:                       {"CUDA_ERROR_ASSERT", "a kernel's assert failed"},
	ResultTooManyPeers:                 {"CUDA_ERROR_TOO_MANY_PEERS", "no more devices can be peers"},
	ResultHostMemoryAlreadyRegistered:  {"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "this host memory is registered already"},
	ResultHostMemoryNotRegistered:      {"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "this host memory is not registered"},
	ResultHardwareStackError:           {"CUDA_ERROR_HARDWARE_STACK_ERROR", "the stack of a kernel is corrupt or overflowed"},
	ResultIllegalInstruction:           {"CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel met an instruction that does not exist"},
	ResultMisalignedAddress:            {"CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel used an address that is not aligned as its instruction needs"},
	ResultInvalidAddressSpace:          {"CUDA_ERROR_INVALID_ADDRESS_SPACE", "a kernel used an address in the wrong memory space"},
	ResultInvalidPC:                    {"CUDA_ERROR_INVALID_PC", "a kernel's program counter left the code"},
	ResultLaunchFailed:                 {"CUDA_ERROR_LAUNCH_FAILED", "a kernel failed while it ran"},
	ResultCooperativeLaunchTooLarge:    {"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "a cooperative grid has more blocks than can be resident at once"},
	ResultTensorMemoryLeak:             {"CUDA_ERROR_TENSOR_MEMORY_LEAK", "a kernel ended without freeing its tensor memory"},
	ResultNotPermitted:                 {"CUDA_ERROR_NOT_PERMITTED", "the operation is not permitted"},
	ResultNotSupported:                 {"CUDA_ERROR_NOT_SUPPORTED", "this driver or device cannot do it"},
	ResultSystemNotReady:               {"CUDA_ERROR_SYSTEM_NOT_READY", "the machine is not ready: is its fabric manager or daemon running?"},
	ResultSystemDriverMismatch:         {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "libcuda and the kernel's driver are of different versions"},
	ResultCompatNotSupportedOnDevice:   {"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "this GPU cannot use the forward compatibility package"},
	ResultMPSConnectionFailed:          {"CUDA_ERROR_MPS_CONNECTION_FAILED", "the MPS control daemon cannot be reached"},
	ResultMPSRPCFailure:                {"CUDA_ERROR_MPS_RPC_FAILURE", "a call to the MPS server failed"},
	ResultMPSServerNotReady:            {"CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server is not ready for clients"},
	ResultMPSMaxClientsReached:         {"CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "the MPS server has as many clients as it can"},
	ResultMPSMaxConnectionsReached:     {"CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "the MPS server has as many connections as it can"},
	ResultMPSClientTerminated:          {"CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS server ended this client"},
	ResultCDPNotSupported:              {"CUDA_ERROR_CDP_NOT_SUPPORTED", "the kernel launches kernels, which this GPU or mode cannot"},
	ResultCDPVersionMismatch:           {"CUDA_ERROR_CDP_VERSION_MISMATCH", "the kernel launches kernels in a way that this driver does not know"},
	ResultStreamCaptureUnsupported:     {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "the operation cannot be part of a stream capture"},
	ResultStreamCaptureInvalidated:     {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the capture was ended by an earlier error"},
	ResultStreamCaptureMerge:           {"CUDA_ERROR_STREAM_CAPTURE_MERGE", "the call would join two captures"},
	ResultStreamCaptureUnmatched:       {"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "no capture began in this stream"},
	ResultStreamCaptureUnjoined:        {"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "a stream that joined the capture has not come back to the first one"},
	ResultStreamCaptureIsolation:       {"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "the call would tie captured work to work outside the capture"},
	ResultStreamCaptureImplicit:        {"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the call would wait for the legacy default stream, which is tied to a capture"},
	ResultCapturedEvent:                {"CUDA_ERROR_CAPTURED_EVENT", "the event was last recorded in a capture"},
	ResultStreamCaptureWrongThread:     {"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "a capture is ended by another thread than began it"},
	ResultTimeout:                      {"CUDA_ERROR_TIMEOUT", "the wait took too long"},
	ResultGraphExecUpdateFailure:       {"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph differs too much from the one to update"},
	ResultExternalDevice:               {"CUDA_ERROR_EXTERNAL_DEVICE", "a device outside CUDA failed"},
	ResultInvalidClusterSize:           {"CUDA_ERROR_INVALID_CLUSTER_SIZE", "the cluster does not fit the kernel or device"},
	ResultFunctionNotLoaded:            {"CUDA_ERROR_FUNCTION_NOT_LOADED", "the kernel is not loaded yet"},
	ResultInvalidResourceType:          {"CUDA_ERROR_INVALID_RESOURCE_TYPE", "the resource is of another type"},
	ResultInvalidResourceConfiguration: {"CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "the resource cannot be split so"},
	ResultKeyRotation:                  {"CUDA_ERROR_KEY_ROTATION", "the GPU is changing its keys"},
	ResultUnknown:                      {"CUDA_ERROR_UNKNOWN", "an internal error of the driver"},
}

// Name is the code's name in cuda.h.
func (r Result) Name() string {
	if words, known := resultWords[r]; known {
		return words.name
	}
	return fmt.Sprintf("CUDA_ERROR_%d", int32(r))
}

// Text says in a few words what the code means.
func (r Result) Text() string {
	if words, known := resultWords[r]; known {
		return words.text
	}
	return "a code that only newer drivers have"
}

// String is the name and the number.
func (r Result) String() string {
	return fmt.Sprintf("%s (%d)", r.Name(), int32(r))
}

// Sticky says whether the code ends the life of the context, and so of CUDA in
// the process: every later call answers it again.
func (r Result) Sticky() bool {
	switch r {
	case ResultECCUncorrectable, ResultNVLinkUncorrectable, ResultContained, ResultIllegalAddress, ResultLaunchTimeout,
		ResultAssert, ResultHardwareStackError, ResultIllegalInstruction, ResultMisalignedAddress, ResultInvalidAddressSpace,
		ResultInvalidPC, ResultLaunchFailed, ResultTensorMemoryLeak:
		return true
	}
	return false
}
