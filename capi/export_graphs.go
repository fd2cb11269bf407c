package main

/*
#include "dlaunch.h"
*/
import "C"

import (
	"unsafe"

	"dlaunch/handles"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

//export go_graph_create
func go_graph_create(calls *C.dlaunch_call, num C.uint32_t, out *C.dlaunch_graph, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_graph_create", err, func() error {
		if out == nil {
			return null("out")
		}
		if calls == nil && num != 0 {
			return null("calls")
		}
		list := make([]launch.Call, num)
		for i, c := range unsafe.Slice(calls, num) {
			if c.reserved != 0 {
				return status.Errorf(status.Argument, "call %d: reserved is not 0", i)
			}
			list[i] = launch.Call{Kernel: handles.Handle(c.kernel), Config: (*exec.Config)(unsafe.Pointer(c.config)),
				Args: unsafe.Slice((*exec.Arg)(unsafe.Pointer(c.args)), argumentCount(c.args, c.num_args))}
		}
		h, err := engine.CreateGraph(list)
		return put(out, C.dlaunch_graph(h), err)
	})
}

//export go_graph_launch
func go_graph_launch(graph C.dlaunch_graph, stream C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_graph_launch", err, func() error { return engine.LaunchGraph(handles.Handle(graph), uint64(stream)) })
}

//export go_graph_close
func go_graph_close(graph C.dlaunch_graph, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_graph_close", err, func() error { return engine.Close(handles.Handle(graph), handles.Graph) })
}
