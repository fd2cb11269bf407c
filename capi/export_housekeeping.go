package main

/*
#include "exec.h"
*/
import "C"

import (
	"dlaunch/handles"
	"dlaunch/launch"
)

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

//export go_retire
func go_retire(handle C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_retire", err, func() error { return engine.Retire(handles.Handle(handle)) })
}

//export go_drain
func go_drain(err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_drain", err, func() error { return engine.Drain() })
}

//export go_report
func go_report(buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return askText("dlaunch_report", buf, size, needed, err, func() (string, error) { return engine.Report(), nil })
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
