package main

/*
#include "exec.h"
#include "exit.h"
*/
import "C"

import (
	"dlaunch/handles"
	"dlaunch/launch"
)

// newEngine also begins what DLAUNCH_LOG and DLAUNCH_LEAK ask for. It comes when the
// library is loaded, where no call could answer for a value that is none.
func newEngine() *launch.Engine {
	e := launch.New(openDriver, giveBack)
	if err := e.Log(C.GoString(C.dl_log_setting())); err != nil {
		launch.Complain(err.Error())
	}
	mode, err := launch.ParseLeakMode(C.GoString(C.dl_leak_setting()))
	if err != nil {
		launch.Complain(err.Error())
	}
	if mode != launch.LeaksIgnored {
		C.dl_look_for_leaks_at_exit(mode == launch.LeaksFail)
	}
	return e
}

// go_leaks says on stderr what is open, and whether anything is.
//
//export go_leaks
func go_leaks() C.bool {
	found := false
	guard("exit", nil, func() error {
		text := engine.Leaks()
		if found = text != ""; found {
			launch.Complain(text)
		}
		return nil
	})
	return C.bool(found)
}

//export go_annotate
func go_annotate(handle C.uint64_t, text *C.char, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_annotate", err, func() error {
		if err := engine.Check(handles.Handle(handle), handles.Any); err != nil {
			return err
		}
		if text == nil {
			return null("text")
		}
		return engine.Annotate(handles.Handle(handle), C.GoString(text))
	})
}

//export go_disown
func go_disown(handle C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_disown", err, func() error { return engine.Disown(handles.Handle(handle)) })
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

//export go_stream_query
func go_stream_query(stream C.uint64_t, done *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_stream_query", err, func() error {
		if stream>>48 != 0 {
			if err := engine.Check(handles.Handle(stream), handles.Stream); err != nil {
				return err
			}
		}
		if done == nil {
			return null("done")
		}
		passed, err := engine.QueryStream(uint64(stream))
		value := C.int32_t(0)
		if passed {
			value = 1
		}
		return put(done, value, err)
	})
}

//export go_device_enter
func go_device_enter(device C.int32_t, former *C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_device_enter", err, func() error {
		if former == nil {
			return null("former")
		}
		context, err := engine.EnterDevice(int(device))
		return put(former, C.uint64_t(context), err)
	})
}

//export go_device_leave
func go_device_leave(former C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_device_leave", err, func() error { return engine.LeaveDevice(uint64(former)) })
}
