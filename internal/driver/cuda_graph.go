package driver

func fillGraphs(a *API, s *symbols) {
	const noDestructorSync, move = 1, 1
	info, create := s.optional("cuStreamGetCaptureInfo_v2", 11030), s.optional("cuUserObjectCreate", 11030)
	a.StreamCaptureGraph = func(stream Stream) (Graph, Result) {
		status, graph := pinned[int32](), pinned[Graph]()
		defer status.Unpin()
		defer graph.Unpin()
		r := info.call(uintptr(stream), status.address(), 0, graph.address(), 0, 0) // no id, no dependencies
		if *status.value != CaptureActive {
			return 0, r // what else it gives means nothing
		}
		return *graph.value, r
	}
	a.UserObjectCreate = func(data, destroy uintptr) (UserObject, Result) {
		return out[UserObject](create, data, destroy, 1, noDestructorSync)
	}
	release, retain := s.optional("cuUserObjectRelease", 11030), s.optional("cuGraphRetainUserObject", 11030)
	a.UserObjectRelease = func(object UserObject) Result { return release.call(uintptr(object), 1) }
	a.GraphRetainUserObject = func(graph Graph, object UserObject) Result {
		return retain.call(uintptr(graph), uintptr(object), 1, move)
	}

	begin, end := s.optional("cuStreamBeginCapture_v2", 10010), s.optional("cuStreamEndCapture", 10000)
	a.StreamBeginCapture = func(stream Stream, mode int32) Result { return begin.call(uintptr(stream), uintptr(mode)) }
	a.StreamEndCapture = func(stream Stream) (Graph, Result) { return second[Graph](end, uintptr(stream)) }
	instantiate, launch := s.optional("cuGraphInstantiateWithFlags", 11040), s.optional("cuGraphLaunch", 10000)
	a.GraphInstantiate = func(graph Graph) (GraphExec, Result) { return out[GraphExec](instantiate, uintptr(graph), 0) }
	a.GraphLaunch = func(exec GraphExec, stream Stream) Result { return launch.call(uintptr(exec), uintptr(stream)) }
	destroy, destroyExec := s.optional("cuGraphDestroy", 10000), s.optional("cuGraphExecDestroy", 10000)
	a.GraphDestroy = func(graph Graph) Result { return destroy.call(uintptr(graph)) }
	a.GraphExecDestroy = func(exec GraphExec) Result { return destroyExec.call(uintptr(exec)) }
}
