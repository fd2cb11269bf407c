package launch

import (
	"errors"
	"fmt"
	"strings"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

// LinkInput is one of the images that dlaunch_link makes a library of.
type LinkInput struct {
	Data []byte
	Name string // for messages; "" counts them
}

// Link makes one library of several images, which may use each other's functions
// and variables.
func (e *Engine) Link(inputs []LinkInput, options LibraryOptions) (handles.Handle, error) {
	api, err := e.api()
	if err != nil {
		return 0, err
	}
	if err := e.poisoned(); err != nil {
		return 0, err
	}
	if len(inputs) == 0 {
		return 0, status.Errorf(status.Argument, "there is nothing to link")
	}
	var images []*image
	var labels []string
	for i, input := range inputs {
		if input.Name == "" {
			input.Name = fmt.Sprintf("input %d", i)
		}
		im, err := examine(input.Data, input.Name, api.Version)
		if err == nil {
			err = im.linkable()
		}
		if err != nil {
			return 0, inInput(input.Name, err)
		}
		images, labels = append(images, im), append(labels, input.Name)
	}
	return e.link(images, strings.Join(labels, " + "), options)
}

func inInput(name string, err error) error {
	var e *status.Error
	if !errors.As(err, &e) {
		return err
	}
	said := *e
	said.Message = name + ": " + e.Message
	return &said
}

func (e *Engine) link(images []*image, label string, options LibraryOptions) (handles.Handle, error) {
	lib := &library{label: label, contents: contentsOf(images...), linked: true}
	var inputs []driver.LinkInput
	intermediate := false
	for _, im := range images {
		inputs = append(inputs, driver.LinkInput{Kind: im.kind, Data: im.bytes, Name: im.label})
		intermediate = intermediate || holdsLTOIR(im.bytes)
	}
	return e.openLibrary(lib, options, func(d *device) (driver.Result, error) {
		if intermediate {
			return e.linkLTOIR(lib, inputs, d, options)
		}
		var cubin []byte
		var r driver.Result
		lib.native, cubin, r = e.driver.API.LibraryLink(inputs, append(lib.log.options(), options.Options...))
		lib.became(cubin)
		return r, nil
	})
}

// linkLTOIR has nvJitLink do it: to PTX for the simulator, which runs nothing else.
func (e *Engine) linkLTOIR(lib *library, inputs []driver.LinkInput, d *device, options LibraryOptions) (driver.Result, error) {
	said, err := jitLinkerOptions(options.Options, 10*d.limits.computeMajor+d.limits.computeMinor)
	if err != nil {
		return 0, err
	}
	if e.simulated() {
		said = append(said, "-ptx")
	}
	candidates := driver.JITLinkerNames(e.driver.API.Version)
	if options.JITLinker != "" {
		candidates = []string{options.JITLinker}
	}
	linker, err := driver.OpenJITLinker(candidates)
	if err != nil {
		return 0, err
	}
	linked, log, err := linker.Link(inputs, said)
	defer func() { lib.log.write(log) }() // last: the driver clears it
	if err != nil {
		return 0, err
	}
	lib.became(linked)
	var r driver.Result
	lib.native, r = e.driver.API.LibraryLoad(linked, lib.log.options())
	return r, nil
}

// became takes what the linked image says of itself in the place of what its
// inputs said. Prototypes they may have carried both.
func (l *library) became(linked []byte) {
	if linked == nil {
		return
	}
	whole := newContents()
	whole.carried = l.carried
	whole.read(linked)
	l.architectures, l.globals, l.unread = whole.architectures, whole.globals, whole.unread
}

// linkable refuses what was compiled to be complete: linkers take nothing of it,
// and say nothing.
func (im *image) linkable() error {
	complete := im.kind == driver.LinkCubin && elfType(im.bytes) == executable || im.kind == driver.LinkObject && im.wholeFatbin() != nil
	if !complete {
		return nil
	}
	return status.Errorf(status.Image, "it was compiled as a whole program, so that nothing links with it: compile it as relocatable device code (nvcc -rdc=true or -dc), or load it alone")
}

// wholeFatbin gives the fatbin that a host's object carries if it was compiled as
// a whole program.
func (im *image) wholeFatbin() []byte { return elfSection(im.bytes, wholeFatbin) }

// alone gives what is loaded of an image that comes alone.
func (im *image) alone() (*image, error) {
	if im.kind != driver.LinkObject {
		return im, nil
	}
	if fatbin := im.wholeFatbin(); fatbin != nil {
		return &image{kind: driver.LinkFatbin, bytes: fatbin, label: im.label}, nil
	}
	if elfSection(im.bytes, relocatableFatbin) == nil {
		return nil, status.Errorf(status.Image, "the object has no device code (no section %s or %s): is it one of nvcc's?", wholeFatbin, relocatableFatbin)
	}
	return im, nil
}

// needsLinking says whether the driver loads an image only by way of a linker.
func (im *image) needsLinking() bool {
	switch im.kind {
	case driver.LinkObject, driver.LinkArchive, driver.LinkLTOIR:
		return true
	case driver.LinkFatbin:
		members := fatbinMembers(im.bytes)
		for _, m := range members {
			if m.kind != memberLTOIR {
				return false
			}
		}
		return len(members) > 0
	}
	return false
}

// The sections of a host's object with its fatbins: what is complete, and what is
// to be linked.
const (
	wholeFatbin       = ".nv_fatbin"
	relocatableFatbin = "__nv_relfatbin"
)

// holdsLTOIR says whether an image is LTO IR, or has some inside.
func holdsLTOIR(image []byte) bool {
	switch kindOf(image) {
	case driver.LinkLTOIR:
		return true
	case driver.LinkFatbin:
		for _, m := range fatbinMembers(image) {
			if m.kind == memberLTOIR {
				return true
			}
		}
	case driver.LinkObject:
		return holdsLTOIR(elfSection(image, relocatableFatbin))
	case driver.LinkArchive:
		files, _ := archiveMembers(image)
		for _, file := range files {
			if kindOf(file) != driver.LinkArchive && holdsLTOIR(file) { // linkers take no archive in one
				return true
			}
		}
	}
	return false
}

// examineObject examines a host's object, and the fatbins that it carries.
func examineObject(image []byte) error {
	if err := examineELF("object", image); err != nil {
		return err
	}
	for _, s := range elfSections(image) {
		if s.name != wholeFatbin && s.name != relocatableFatbin {
			continue
		}
		if err := examineFatbin(s.bytes); err != nil {
			return err
		}
	}
	return nil
}

// elfSection gives the content of a section, nil if there is none.
func elfSection(image []byte, name string) []byte {
	for _, s := range elfSections(image) {
		if s.name == name {
			return s.bytes
		}
	}
	return nil
}
