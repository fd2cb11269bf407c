package launch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

var fatbinMagic = []byte{0x50, 0xed, 0x55, 0xba} // 0xba55ed50, as fatbinary writes it

const (
	fatbinHeaderBytes = 16
	memberHeaderBytes = 64
)

// Kinds of members.
const (
	memberPTX   = 1
	memberCubin = 2
	memberLTOIR = 8
)

// member is one image in a fatbin.
type member struct {
	kind         uint16
	architecture uint32 // 90
	packed       uint32 // the bytes that are compressed; 0 when it comes as it is
	packing      uint32 // how
	whole        uint64 // the bytes that they become
	bytes        []byte
}

// examineFatbin follows the chain of headers that a fatbin is: each says how long
// it and its body are, and so do its members'.
func examineFatbin(image []byte) error {
	if !bytes.HasPrefix(image, fatbinMagic) {
		return status.Errorf(status.Image, "the fatbin is damaged: it begins with %s", beginning(image))
	}
	for at := uint64(0); at < uint64(len(image)); {
		rest := image[at:]
		if at > 0 && !bytes.HasPrefix(rest, fatbinMagic) {
			return nil // padding, or what else a file has behind it
		}
		if len(rest) < fatbinHeaderBytes {
			return truncated("fatbin", len(image), at+fatbinHeaderBytes)
		}
		header := uint64(binary.LittleEndian.Uint16(rest[6:]))
		body := binary.LittleEndian.Uint64(rest[8:])
		end := at + header + body
		if header < fatbinHeaderBytes || end < body || end > uint64(len(image)) {
			return truncated("fatbin", len(image), end)
		}
		members, whole := membersOf(rest[header : header+body])
		if !whole {
			return status.Errorf(status.Image, "the fatbin is damaged: after %d members, a header does not fit into its %d bytes", len(members), body)
		}
		for _, m := range members {
			if err := m.examine(); err != nil {
				return err
			}
		}
		at = end
	}
	return nil
}

func (m *member) examine() error {
	content, err := m.content()
	switch {
	case err != nil:
		return err
	case content != nil && m.kind == memberCubin:
		return examineELF("cubin in the fatbin", content)
	case content != nil && m.kind == memberPTX:
		_, err = plainText("PTX in the fatbin", content)
	}
	return err
}

// fatbinMembers gives the images of all fatbins in the chain.
func fatbinMembers(image []byte) []member {
	var all []member
	for len(image) >= fatbinHeaderBytes && bytes.HasPrefix(image, fatbinMagic) {
		header, body := uint64(binary.LittleEndian.Uint16(image[6:])), binary.LittleEndian.Uint64(image[8:])
		content, whole := within(image, header, body)
		if !whole || header < fatbinHeaderBytes {
			break
		}
		members, _ := membersOf(content)
		all = append(all, members...)
		image = image[header+body:]
	}
	return all
}

// membersOf takes a fatbin's body apart: each member after a header that has its
// own size at 4 and the member's at 8. On false something did not fit.
func membersOf(body []byte) (members []member, whole bool) {
	word := binary.LittleEndian
	for len(body) >= memberHeaderBytes {
		header, size := uint64(word.Uint32(body[4:])), word.Uint64(body[8:])
		content, whole := within(body, header, size)
		options, name, nameBytes := uint64(word.Uint32(body[20:])), uint64(word.Uint32(body[32:])), uint64(word.Uint32(body[36:]))
		if !whole || header < memberHeaderBytes || options > header || name+nameBytes > header {
			return members, false
		}
		members = append(members, member{
			kind: word.Uint16(body), architecture: word.Uint32(body[28:]),
			packed: word.Uint32(body[16:]), packing: word.Uint32(body[40:]), whole: word.Uint64(body[56:]), bytes: content,
		})
		body = body[header+size:]
	}
	return members, len(bytes.Trim(body, "\x00")) == 0
}

// Archives, as ar makes them.
var archiveMagic = []byte("!<arch>\n")

const archiveHeaderBytes = 60

// examineArchive examines the objects, cubins and fatbins in an archive; what else
// there is in one, such as a list of its symbols, no driver looks at.
func examineArchive(image []byte) error {
	files, err := archiveMembers(image)
	for number, file := range files {
		if err != nil {
			break
		}
		switch kindOf(file) {
		case driver.LinkCubin, driver.LinkObject, driver.LinkFatbin:
			_, err = examine(file, "", 0)
			err = inInput(fmt.Sprintf("file %d of the archive", number), err)
		}
	}
	return err
}

// archiveMembers gives the files in an archive.
func archiveMembers(image []byte) ([][]byte, error) {
	var files [][]byte
	for at := uint64(len(archiveMagic)); at < uint64(len(image)); {
		if at+archiveHeaderBytes > uint64(len(image)) {
			return nil, truncated("archive", len(image), at+archiveHeaderBytes)
		}
		header := image[at : at+archiveHeaderBytes]
		size, err := strconv.ParseUint(strings.TrimRight(string(header[48:58]), " "), 10, 40)
		if err != nil || !bytes.HasSuffix(header, []byte("`\n")) {
			return nil, status.Errorf(status.Image, "the archive is damaged: at byte %d a member's header is wanted", at)
		}
		at += archiveHeaderBytes
		if at+size > uint64(len(image)) {
			return nil, truncated("archive", len(image), at+size)
		}
		files = append(files, image[at:at+size])
		at += size + size%2
	}
	return files, nil
}
