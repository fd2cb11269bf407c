package launch

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"dlaunch/internal/status"
)

var fatbinMagic = []byte{0x50, 0xed, 0x55, 0xba} // 0xba55ed50, as fatbinary writes it

const (
	fatbinHeaderBytes = 16
	memberHeaderBytes = 32 // what is read of one
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
	bytes        []byte
}

// examineFatbin follows the chain of headers that a fatbin is: each says how long
// it and its body are, and so do its members'.
func examineFatbin(image []byte) error {
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
	switch {
	case uint64(m.packed) > uint64(len(m.bytes)):
		return status.Errorf(status.Image, "the fatbin is damaged: a member has %d bytes, of which %d are said to be compressed", len(m.bytes), m.packed)
	case m.packed == 0 && m.kind == memberCubin:
		return examineELF("cubin in the fatbin", m.bytes)
	}
	return nil
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
		if !whole || header < memberHeaderBytes {
			return members, false
		}
		members = append(members, member{word.Uint16(body), word.Uint32(body[28:]), word.Uint32(body[16:]), content})
		body = body[header+size:]
	}
	return members, len(bytes.Trim(body, "\x00")) == 0
}

// Archives, as ar makes them.
var archiveMagic = []byte("!<arch>\n")

const archiveHeaderBytes = 60

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
