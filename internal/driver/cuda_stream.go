package driver

func fillStreams(a *API, s *symbols) {
	create, destroy := s.required("cuStreamCreateWithPriority"), s.required("cuStreamDestroy_v2")
	synchronize, query := s.required("cuStreamSynchronize"), s.required("cuStreamQuery")
	a.StreamCreate = func(flags uint32, priority int32) (Stream, Result) {
		return out[Stream](create, uintptr(flags), uintptr(priority))
	}
	priorities := s.required("cuCtxGetStreamPriorityRange")
	a.StreamPriorityRange = func() (int32, int32, Result) {
		least, greatest := pinned[int32](), pinned[int32]()
		defer least.Unpin()
		defer greatest.Unpin()
		r := priorities.call(least.address(), greatest.address())
		return *least.value, *greatest.value, r
	}
	a.StreamDestroy = func(stream Stream) Result { return destroy.call(uintptr(stream)) }
	a.StreamSynchronize = func(stream Stream) Result { return synchronize.call(uintptr(stream)) }
	a.StreamQuery = func(stream Stream) Result { return query.call(uintptr(stream)) }

	context, capturing, wait := s.required("cuStreamGetCtx"), s.required("cuStreamIsCapturing"), s.required("cuStreamWaitEvent")
	a.StreamContext = func(stream Stream) (Context, Result) { return second[Context](context, uintptr(stream)) }
	a.StreamCapturing = func(stream Stream) (bool, Result) {
		status, r := second[int32](capturing, uintptr(stream))
		return status != 0, r
	}
	a.StreamWaitEvent = func(stream Stream, event Event) Result { return wait.call(uintptr(stream), uintptr(event), 0) }

	makeEvent, record, done := s.required("cuEventCreate"), s.required("cuEventRecord"), s.required("cuEventQuery")
	await, end, elapsed := s.required("cuEventSynchronize"), s.required("cuEventDestroy_v2"), s.required("cuEventElapsedTime")
	a.EventCreate = func(flags uint32) (Event, Result) { return out[Event](makeEvent, uintptr(flags)) }
	a.EventRecord = func(event Event, stream Stream) Result { return record.call(uintptr(event), uintptr(stream)) }
	a.EventQuery = func(event Event) Result { return done.call(uintptr(event)) }
	a.EventSynchronize = func(event Event) Result { return await.call(uintptr(event)) }
	a.EventDestroy = func(event Event) Result { return end.call(uintptr(event)) }
	a.EventElapsed = func(start, stop Event) (float32, Result) {
		return out[float32](elapsed, uintptr(start), uintptr(stop))
	}

	exchange := s.optional("cuThreadExchangeStreamCaptureMode", 10010)
	a.CaptureMode = func(mode int32) (int32, Result) {
		cell := pinned[int32]()
		defer cell.Unpin()
		*cell.value = mode
		r := exchange.call(cell.address())
		return *cell.value, r
	}
}

// second calls a function whose second argument receives a value.
func second[T any](f function, first uintptr) (T, Result) {
	value := pinned[T]()
	defer value.Unpin()
	r := f.call(first, value.address())
	return *value.value, r
}
