package ptx

import "strings"

// mostText bounds the variables that Bytes reads.
const mostText = 1 << 16

// Bytes gives, by name, the initial values of the module's .b8 arrays whose names
// begin with prefix, each cut at its first 0: texts that a compiler left there.
// What it cannot read it passes over, since another reader judges the text.
func Bytes(text []byte, prefix string) map[string]string {
	s := scanner{lexer: newLexer(string(text)), image: &Image{}}
	found := map[string]string{}
	s.advance()
	for s.token.kind != endOfText {
		switch {
		case s.take(".global"), s.take(".const"):
			if name, value, ok := s.array(); ok && strings.HasPrefix(name, prefix) {
				found[name] = value
			}
		case s.token.is("{"):
			s.skipBraces()
			s.advance()
		default:
			s.advance()
		}
	}
	return found
}

// array reads `.align 1 .b8 name[3] = {97, 0x62, 0}` after the space. On false it
// stopped where it no longer understood.
func (s *scanner) array() (name, value string, ok bool) {
	for s.token.kind == dotted {
		align := s.token.is(".align")
		if !align && SizeOf(s.token.text) > 1 {
			return "", "", false
		}
		s.advance()
		if align {
			s.advance()
		}
	}
	if s.token.kind != word {
		return "", "", false
	}
	name = s.token.text
	s.advance()
	if _, array, err := s.dimensions(); err != nil || !array || !s.take("=") || !s.token.is("{") {
		return "", "", false
	}
	value, ok = s.byteList()
	return name, value, ok
}

// byteList reads `{97, 0x62, 0}`, and stops at the brace that ends it.
func (s *scanner) byteList() (value string, ok bool) {
	var all strings.Builder
	for ended := false; ; {
		s.advance() // the brace, or a comma
		if s.token.is("}") {
			return all.String(), true
		}
		o, isLiteral := literal(s.token.text)
		if s.token.kind != number || !isLiteral || o.Kind != IntegerOperand || o.Bits > 255 || all.Len() >= mostText {
			return "", false
		}
		if ended = ended || o.Bits == 0; !ended {
			all.WriteByte(byte(o.Bits))
		}
		if s.advance(); !s.token.is(",") {
			return all.String(), s.token.is("}")
		}
	}
}
