package history

// effect is what a statement makes of a row, and how many rows it reports that it
// has affected.
func effect(dialect string, o *Op, r Row) (Row, int64) {
	with := func(views int32) Row {
		r.Views = views
		return r
	}
	changed := func(views int32) (Row, int64) {
		if dialect == "mysql" && views == r.Views {
			return r, 0 // MySQL counts rows that differ afterwards
		}
		return with(views), 1
	}
	fresh := Row{There: true, Views: o.N, High: o.Mark, Low: o.Mark}
	switch o.Kind {
	case Insert:
		if r.There {
			return r, 0
		}
		return fresh, 1
	case Upsert:
		switch {
		case !r.There:
			return fresh, 1
		case dialect == "mysql":
			return with(r.Views + o.N), 2
		}
		return with(r.Views + o.N), 1
	}
	if !r.There {
		return r, 0
	}
	if o.judges() && r.Views < o.N {
		return r, 0
	}
	switch o.Kind {
	case Increment, Wide, Call:
		return with(r.Views + o.N), 1
	case Touch:
		if o.merges() {
			r.High, r.Low = max(r.High, o.Mark), min(r.Low, o.Mark)
		}
		return with(r.Views + o.N), 1
	case Mark:
		return r, 1
	case Set:
		if o.saves() {
			return with(o.N), 1
		}
		return changed(o.N)
	case Clamp:
		return changed(max(r.Views-o.N, 0))
	case Double:
		return changed(r.Views * 2)
	case Take:
		if r.Views >= o.N {
			return with(r.Views - o.N), 1
		}
		return r, 0
	case Rename:
		return r, 1
	case Swap:
		if int32(r.Version) != o.N {
			return r, 0
		}
		r.Version++
		return r, 1
	case Delete:
		return Row{}, 1
	}
	return r, 0
}

// takes reports whether the statement subtracts as much as there certainly is.
func (o *Op) takes() bool { return o.Kind == Take || o.Kind == Clamp }

// sum is what increments, which may pass each other, add up to.
type sum struct {
	views     int32
	taken     int32 // how much of views has been taken by guarded decrements
	high, low int8  // the greatest and the least so far
	swaps     int8  // how often the version has been changed, which others wait for
}

// none adds nothing.
var none = sum{high: -128, low: 127}

func (s sum) plus(o *Op) sum {
	if o.Kind.additive() {
		s.views += o.N
	}
	if o.takes() {
		s.views, s.taken = s.views-o.N, s.taken+o.N
	}
	if o.merges() {
		s.high, s.low = max(s.high, o.Mark), min(s.low, o.Mark)
	}
	if o.Kind == Swap {
		s.swaps++
	}
	return s
}

func (r Row) plus(s sum) Row {
	r.Views += s.views
	r.Version += s.swaps
	r.High, r.Low = max(r.High, s.high), min(r.Low, s.low)
	return r
}
