package sim

// Modes of what the lanes of a warp do together.
const (
	shuffleUp mode = iota
	shuffleDown
	shuffleButterfly
	shuffleIndex
	voteAll
	voteAny
	voteUniform
	voteBallot
	matchAny
	matchAll
)

func (d *decoder) warpWide() error {
	switch d.at.Name {
	case "activemask":
		if err := d.want(1, 1); err != nil {
			return err
		}
		to, err := d.destination(d.at.Operands[0])
		d.emit(instruction{op: opActiveMask, d: to})
		return err
	case "shfl":
		return d.shuffle()
	case "vote":
		return d.vote()
	case "match":
		return d.match()
	case "redux":
		return d.reduce()
	}
	return d.elect()
}

// both gives the destination and the predicate of `d|p`.
func (d *decoder) both(in *instruction) error {
	to := d.at.Operands[0]
	in.more.predicate = sinkPredicate
	var err error
	if len(to.Elements) == 2 {
		if in.more.predicate, _, err = d.predicate(to.Elements[1]); err != nil {
			return err
		}
		to = to.Elements[0]
	}
	in.d, err = d.destination(to)
	return err
}

// modeOf finds which of the modifiers names a mode.
func (d *decoder) modeOf(modes map[string]mode) (mode, error) {
	for _, m := range d.at.Modifiers {
		if mode, known := modes[m]; known {
			return mode, nil
		}
	}
	return 0, d.lacks()
}

// members decodes the last operand of a .sync instruction: the lanes that take
// part. Without .sync whoever is there does.
func (d *decoder) members(in *instruction, at int) error {
	in.target = -1
	if !d.has("sync") {
		return d.want(at, at)
	}
	if err := d.want(at+1, at+1); err != nil {
		return err
	}
	var err error
	in.target, err = d.source(d.at.Operands[at], "b32")
	return err
}

func (d *decoder) shuffle() error {
	mode, err := d.modeOf(map[string]mode{"up": shuffleUp, "down": shuffleDown, "bfly": shuffleButterfly, "idx": shuffleIndex})
	if err != nil {
		return err
	}
	in := instruction{op: opShuffle, more: &details{mode: mode}}
	if err := d.members(&in, 4); err != nil {
		return err
	}
	if err := d.both(&in); err != nil {
		return err
	}
	for i, to := range []*int32{&in.a, &in.b, &in.c} {
		if *to, err = d.source(d.at.Operands[i+1], "b32"); err != nil {
			return err
		}
	}
	d.emit(in)
	return nil
}

func (d *decoder) vote() error {
	mode, err := d.modeOf(map[string]mode{"all": voteAll, "any": voteAny, "uni": voteUniform, "ballot": voteBallot})
	if err != nil {
		return err
	}
	in := instruction{op: opVote, more: &details{mode: mode}}
	if err := d.members(&in, 2); err != nil {
		return err
	}
	if mode == voteBallot {
		in.d, err = d.destination(d.at.Operands[0])
	} else {
		in.d, _, err = d.predicate(d.at.Operands[0])
	}
	if err != nil {
		return err
	}
	if in.a, in.more.negated, err = d.predicate(d.at.Operands[1]); err != nil {
		return err
	}
	d.emit(in)
	return nil
}

func (d *decoder) match() error {
	mode, err := d.modeOf(map[string]mode{"any": matchAny, "all": matchAll})
	if err != nil {
		return err
	}
	in := instruction{op: opMatch, more: &details{mode: mode}}
	if err := d.members(&in, 2); err != nil {
		return err
	}
	if err := d.both(&in); err != nil {
		return err
	}
	if in.a, err = d.source(d.at.Operands[1], d.kind()); err != nil {
		return err
	}
	d.emit(in)
	return nil
}

func (d *decoder) reduce() error {
	kind := d.kind()
	if len(d.at.Modifiers) < 3 || kind != "u32" && kind != "s32" && kind != "b32" {
		return d.lacks()
	}
	in := instruction{op: opReduce, fn: integerLane(d.at.Modifiers[1], kind)}
	if in.fn == nil {
		return d.lacks()
	}
	if err := d.members(&in, 2); err != nil {
		return err
	}
	var err error
	if in.d, err = d.destination(d.at.Operands[0]); err != nil {
		return err
	}
	if in.a, err = d.source(d.at.Operands[1], kind); err != nil {
		return err
	}
	d.emit(in)
	return nil
}

// elect chooses the lowest of the lanes that take part.
func (d *decoder) elect() error {
	in := instruction{op: opElect, more: &details{}}
	if err := d.members(&in, 1); err != nil {
		return err
	}
	if err := d.both(&in); err != nil {
		return err
	}
	d.emit(in)
	return nil
}
