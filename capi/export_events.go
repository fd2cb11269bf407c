package main

/*
#include "dlaunch.h"
*/
import "C"

import (
	"dlaunch/handles"
)

//export go_event_create
func go_event_create(device C.int32_t, flags C.uint32_t, out *C.dlaunch_event, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_create", err, func() error {
		if out == nil {
			return null("out")
		}
		h, err := engine.CreateEvent(int(device), uint32(flags))
		return put(out, C.dlaunch_event(h), err)
	})
}

//export go_event_record
func go_event_record(event C.dlaunch_event, stream C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_record", err, func() error { return engine.RecordEvent(handles.Handle(event), uint64(stream)) })
}

//export go_event_wait
func go_event_wait(event C.dlaunch_event, stream C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_wait", err, func() error { return engine.WaitEvent(handles.Handle(event), uint64(stream)) })
}

//export go_event_synchronize
func go_event_synchronize(event C.dlaunch_event, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_synchronize", err, func() error { return engine.SynchronizeEvent(handles.Handle(event)) })
}

//export go_event_query
func go_event_query(event C.dlaunch_event, done *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_query", err, func() error {
		if err := engine.Check(handles.Handle(event), handles.Event); err != nil {
			return err
		}
		if done == nil {
			return null("done")
		}
		passed, err := engine.QueryEvent(handles.Handle(event))
		return put(done, truth(passed), err)
	})
}

//export go_event_elapsed
func go_event_elapsed(start, end C.dlaunch_event, milliseconds *C.float, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_elapsed", err, func() error {
		for _, h := range []C.dlaunch_event{start, end} {
			if err := engine.Check(handles.Handle(h), handles.Event); err != nil {
				return err
			}
		}
		if milliseconds == nil {
			return null("milliseconds")
		}
		ms, err := engine.Elapsed(handles.Handle(start), handles.Handle(end))
		return put(milliseconds, C.float(ms), err)
	})
}

//export go_event_close
func go_event_close(event C.dlaunch_event, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_close", err, func() error { return engine.Close(handles.Handle(event), handles.Event) })
}
