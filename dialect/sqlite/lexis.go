package sqlite

import "github.com/slotsql/slotsql/rewrite"

var lexis = rewrite.Lexis{
	Backtick:       true,
	Bracket:        true,
	MarkIsSpace:    true,
	QuestionParam:  true,
	QuestionNumber: true,
	NamedParam:     true,
}
