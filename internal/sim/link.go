package sim

import (
	"errors"

	"dlaunch/internal/driver"
	"dlaunch/internal/ptx"
)

// libraryLink makes one library of several PTX texts.
func (s *Simulator) libraryLink(inputs []driver.LinkInput, options []driver.JITOption) (driver.Library, []byte, driver.Result) {
	lib, err := s.link(inputs)
	id, r := s.loaded(lib, err, options)
	return id, nil, r
}

func (s *Simulator) link(inputs []driver.LinkInput) (*library, error) {
	var modules []*ptx.Module
	var names []string
	for _, input := range inputs {
		module, err := parse(input.Data)
		if err != nil {
			return nil, of(input.Name, err)
		}
		modules, names = append(modules, module), append(names, input.Name)
	}
	module, err := ptx.Link(modules, names)
	if err != nil {
		return nil, err
	}
	return s.place(module)
}

// of says whose error it is.
func of(input string, err error) error {
	result := driver.ResultInvalidPTX
	var refused *loadError
	if errors.As(err, &refused) {
		result = refused.result
	}
	return &loadError{result, input + ": " + err.Error()}
}
