package main

import "regexp"

// A suite is the tests of another project. In args and env, $DSN stands for the database of a run, and $ADDRESS and
// $DATABASE for parts of it.
type suite struct {
	name   string
	source source
	pkg    string // the package, below the module
	engine string

	// inInit: the package, not that of tests beside it, connects in an init function. The hooks must then be set in the
	// package itself, which is impossible for a driver, because the hooks import it.
	inInit bool

	args   []string          // of the tests' binary
	env    map[string]string // of its process
	tables string            // of the configuration
	// uncounted is why slotsql counts no statement, where it does not.
	uncounted string
	differs   []difference
}

// A source is a module at a version. If no module proxy has it, it is a directory of a repository at
// the tag of that version.
type source struct {
	module, version               string
	repository, commit, directory string

	with  []string // what its own go.mod takes from directories beside it, as module@version
	empty []string // modules that its tests import for no effect here, and that cannot always be had
}

// A difference is tests that come to something else through slotsql, and the reason.
type difference struct {
	tests  *regexp.Regexp
	reason string
}
