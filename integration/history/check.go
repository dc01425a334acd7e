package history

import "fmt"

// Levels are the isolation levels that are checked on an engine. Of SQLite they
// are journal modes: every transaction is serializable there.
func Levels(dialect string) []string {
	if dialect == "sqlite" {
		return []string{"WAL", "DELETE"}
	}
	return []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}
}

// Check returns an error when no order of events explains the history. Cut says
// that it is not decided: the search was given up.
func Check(h *History) (cut bool, err error) {
	var v verdict
	switch {
	case h.Dialect == "sqlite" || h.Level == "SERIALIZABLE":
		v = checkSerial(h)
	case h.Level == "READ COMMITTED":
		v = checkStatements(h, false, nil)
	case h.Dialect == "postgres":
		v = checkSnapshot(h)
	default:
		v = checkStatements(h, true, nil)
	}
	torn := !v.explained && !v.cut && explainedTorn(h)
	if !v.explained && !v.cut && !torn {
		return false, fmt.Errorf("no order of events that %s allows explains this history:\n%s\n%s", h.Level, h, v.stuck)
	}
	if err := checkBeside(h); err != nil {
		return false, err
	}
	if err := checkSeen(h); err != nil {
		return false, err
	}
	if err := checkErrors(h); err != nil {
		return false, err
	}
	if torn {
		return false, &Torn{fmt.Errorf("a read of several rows sees them at different moments:\n%s\n%s", h, v.stuck)}
	}
	return v.cut, nil
}
