package main

/*
#include "dlaunch.h"
*/
import "C"

import (
	"dlaunch/handles"
)

//export go_stream_create
func go_stream_create(device C.int32_t, flags C.uint32_t, out *C.dlaunch_stream, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_stream_create", err, func() error {
		if out == nil {
			return null("out")
		}
		h, err := engine.CreateStream(int(device), uint32(flags))
		return put(out, C.dlaunch_stream(h), err)
	})
}

//export go_stream_create_with_priority
func go_stream_create_with_priority(device C.int32_t, flags C.uint32_t, priority C.int32_t, out *C.dlaunch_stream, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_stream_create_with_priority", err, func() error {
		if out == nil {
			return null("out")
		}
		h, err := engine.CreateStreamWithPriority(int(device), uint32(flags), int32(priority))
		return put(out, C.dlaunch_stream(h), err)
	})
}

//export go_stream_priorities
func go_stream_priorities(device C.int32_t, least, greatest *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_stream_priorities", err, func() error {
		if least == nil {
			return null("least")
		}
		if greatest == nil {
			return null("greatest")
		}
		l, g, err := engine.StreamPriorities(int(device))
		return both(put(least, C.int32_t(l), err), put(greatest, C.int32_t(g), err))
	})
}

//export go_stream_native
func go_stream_native(stream C.dlaunch_stream, out *C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_stream_native", handles.Handle(stream), handles.Stream, out, err, func(h handles.Handle) (C.uint64_t, error) {
		native, err := engine.NativeStream(h)
		return C.uint64_t(native), err
	})
}

//export go_stream_query
func go_stream_query(stream C.uint64_t, done *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_stream_query", err, func() error {
		if err := engine.CheckStream(uint64(stream)); err != nil {
			return err
		}
		if done == nil {
			return null("done")
		}
		passed, err := engine.QueryStream(uint64(stream))
		return put(done, truth(passed), err)
	})
}

//export go_stream_synchronize
func go_stream_synchronize(stream C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_stream_synchronize", err, func() error { return engine.SynchronizeStream(uint64(stream)) })
}

//export go_stream_close
func go_stream_close(stream C.dlaunch_stream, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_stream_close", err, func() error { return engine.Close(handles.Handle(stream), handles.Stream) })
}

//export go_synchronize
func go_synchronize(device C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_synchronize", err, func() error { return engine.Synchronize(int(device)) })
}
