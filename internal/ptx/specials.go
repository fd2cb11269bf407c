package ptx

import (
	"strconv"
	"strings"
)

// The registers that PTX predefines (ISA 9.0, chapter 10), by their bits, but for
// those with a number, and for %gridid and %is_explicit_cluster.
const (
	specials32 = ` %tid %ntid %laneid %warpid %nwarpid %ctaid %nctaid %smid %nsmid %clusterid %nclusterid %cluster_ctaid %cluster_nctaid
 %cluster_ctarank %cluster_nctarank %lanemask_eq %lanemask_le %lanemask_lt %lanemask_ge %lanemask_gt %clock %clock_hi %globaltimer_lo
 %globaltimer_hi %reserved_smem_offset_begin %reserved_smem_offset_end %reserved_smem_offset_cap %reserved_smem_offset_0
 %reserved_smem_offset_1 %total_smem_size %aggr_smem_size %dynamic_smem_size %warpsize `
	specials64 = ` %clock64 %globaltimer %current_graph_exec `
)

// specialType gives the type of a predefined register; "" for one that is of
// several. It is known only if the register is.
func specialType(name string) (kind string, known bool) {
	name, _, _ = strings.Cut(name, ".")
	switch {
	case name == "%gridid":
		return "", true
	case name == "%is_explicit_cluster":
		return "pred", true
	case isNumberedSpecial(name) && strings.HasSuffix(name, "_64") || listed(specials64, name):
		return "u64", true
	case isNumberedSpecial(name) || listed(specials32, name):
		return "u32", true
	}
	return "", false
}

func isSpecial(name string) bool {
	_, known := specialType(name)
	return known
}

// listed looks a name up in a text of names, each between blanks.
func listed(names, name string) bool {
	at := strings.Index(names, name)
	for at > 0 && (names[at-1] > ' ' || names[at+len(name)] > ' ') {
		next := strings.Index(names[at+1:], name)
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return at > 0
}

// hasComponent says whether a predefined register is a vector with an .x.
func hasComponent(name, component string) bool {
	return (strings.HasSuffix(name, "tid") || strings.HasSuffix(name, "ctaid") || strings.HasSuffix(name, "clusterid")) &&
		len(component) == 2 && strings.Contains("xyzwrgba", component[1:])
}

// isNumberedSpecial knows %pm0 to %pm7, %pm0_64 to %pm7_64, and %envreg0 to %envreg31.
func isNumberedSpecial(name string) bool {
	if digit, ok := strings.CutPrefix(strings.TrimSuffix(name, "_64"), "%pm"); ok {
		return len(digit) == 1 && digit >= "0" && digit <= "7"
	}
	digits, ok := strings.CutPrefix(name, "%envreg")
	n, err := strconv.ParseUint(digits, 10, 5)
	return ok && err == nil && digits == strconv.FormatUint(n, 10)
}
