package dialect

// Routine is a trigger, function, procedure or rule.
type Routine struct {
	Kind, Name string
	// Fired is what runs it when rows of a table change; empty for what is only called.
	Fired []Firing
	// Drop, if any, and Before, Body and After are the statements that replace it with one that has another body.
	Drop, Before, Body, After string
	Language                  string // of the body, where the engine has several
	// Parameters are names that may stand for values in the body.
	Parameters []string
	// Fixed is why the body cannot have a call in it; "" if it can.
	Fixed string
}

// Firing is a trigger or rule of a table.
type Firing struct{ Trigger, Table string }

// By says what runs the routine: "trigger commented of table comments", or the routine itself.
func (r *Routine) By() string {
	if len(r.Fired) == 0 {
		return r.Kind + " " + r.Name
	}
	what := "trigger "
	if r.Kind == "rule" {
		what = "rule "
	}
	return what + r.Fired[0].Trigger + " of table " + r.Fired[0].Table
}

// Argument is an argument of a counting function: SQL, for a parameter with a name.
type Argument struct {
	Name, SQL string
	Key       bool // of the key
	Companion bool
}
