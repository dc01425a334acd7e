package rewrite

// What a drain covers: see Plan.DrainScope.
const (
	ScopeKey        = "rows of a unique key"
	ScopeRange      = "rows of a key range"
	ScopeCandidates = "rows that a counter's condition may select"
	ScopeAll        = "all rows"
)

// DrainScope returns which rows the plan's drain covers, or "" for a plan of another class.
// Of several tables the one of which most is drained decides.
func (p *Plan) DrainScope() string {
	if p.Class != Drain || len(p.Drain.Tables) == 0 {
		return ""
	}
	scope := ScopeKey
	for i := range p.Drain.Tables {
		switch s := p.Drain.Tables[i].Scope(); s {
		case ScopeAll, ScopeCandidates:
			return s
		case ScopeRange:
			scope = s
		}
	}
	return scope
}

// Scope returns which of its rows are drained.
func (d *DrainTable) Scope() string {
	switch {
	case d.Look.Candidates != nil:
		return ScopeCandidates
	case d.Look.Range != nil:
		return ScopeRange
	case d.Keyed:
		return ScopeKey
	}
	return ScopeAll
}
