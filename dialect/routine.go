package dialect

// Routine is a trigger, function, procedure or rule.
type Routine struct {
	Kind, Name string
	// Drop, if any, and Before, Body and After are the statements that replace it with one that has another body.
	Drop, Before, Body, After string
	Language                  string // of the body, where the engine has several
	// Parameters are names that may stand for values in the body.
	Parameters []string
	// Fixed is why the body cannot have a call in it; "" if it can.
	Fixed string
}

// Argument is an argument of a counting function: SQL, for a parameter with a name.
type Argument struct {
	Name, SQL string
	Key       bool // of the key
	Companion bool
}
