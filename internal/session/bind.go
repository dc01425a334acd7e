package session

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/slotsql/slotsql/internal/argument"
	"github.com/slotsql/slotsql/rewrite"
)

// args returns the arguments of the execution.
func (r *Run) args() argument.List {
	return argument.List{Args: r.call.args, Values: r.Plan.Values, SendsUnsigned: r.conn.Shared.Traits.UnsignedByProtocol}
}

// binding gives values to those arguments of a statement that are not the application's: the number of a slot, what a group adds.
type binding interface {
	// bound returns what an argument is bound to; false for one of the application's.
	bound(a rewrite.Arg) (any, bool)
}

// bind makes the argument list of one of the plan's own statements. Own is nil if all of its arguments are the application's.
func (r *Run) bind(list []rewrite.Arg, own binding) ([]driver.NamedValue, error) {
	out, args := make([]driver.NamedValue, len(list)), r.args()
	for i, a := range list {
		out[i].Ordinal = i + 1
		if own != nil {
			if v, ok := own.bound(a); ok {
				out[i].Value = v
				continue
			}
		}
		v, ok := args.Value(a)
		if !ok {
			return nil, fmt.Errorf("%w: %s", errNoArgument, placeholderName(a))
		}
		out[i].Value = args.Changed(a, v.Value)
	}
	return out, nil
}

var errNoArgument = errors.New("slotsql: an argument of the statement is missing")

func placeholderName(a rewrite.Arg) string {
	if a.Name != "" {
		return a.Name
	}
	return fmt.Sprint(a.Index + 1)
}
