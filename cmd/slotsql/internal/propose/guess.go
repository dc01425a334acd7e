package propose

import (
	"regexp"
	"slices"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// counting are names of columns that most often count something. Words for
// amounts (total, balance, stock, quantity) are not among them: they are as
// often set as added to.
var counting = regexp.MustCompile(
	`(?i)(?:^|_)(?:count|counts|counter|cnt|views?|viewed|likes?|dislikes?|hits?|clicks?|impressions?|downloads?|plays?|shares?|votes?|upvotes?|downvotes?|` +
		`followers?|visits?|reads|karma|reputation)$|^(?:num|nb)_`,
)

// countingCamel are such names in camel case.
var countingCamel = regexp.MustCompile(`[a-z](?:Count|Counter|Views|Likes|Hits|Clicks|Downloads)$`)

// guess proposes columns by name and type, of a table that no statement adds to.
// A column that statements do set is none: they would have added.
func guess(t Table, found *finding) *Proposal {
	key, why := chooseKey(t.Table)
	p := &Proposal{Table: configTable(t), Guess: true, Off: why, table: t}
	if why != "" {
		p.Key = []string{}
	} else if !isPrimary(t.Table, key) {
		p.Key = key
	}
	p.Counters = byName(t, found)
	if len(p.Counters) == 0 {
		return nil
	}
	p.Notes = tableNotes(t)
	return p
}

// byName returns the columns that are named like counters, and written by no
// statement.
func byName(t Table, found *finding) (out []Counter) {
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Numeric != schema.Integer || c.Identity || c.Generated ||
			!counting.MatchString(c.Name) && !countingCamel.MatchString(c.Name) ||
			slices.Contains(t.ForeignKeys.Columns, c.Name) ||
			slices.ContainsFunc(t.Uniques, func(u schema.Unique) bool { return slices.Contains(u.Columns, c.Name) }) ||
			found != nil && found.written[c.Name] {
			continue
		}
		counter := Counter{Column: c.Name, Notes: columnNotes(t, c.Name)}
		if ok, why := t.Slottable(c.Name); !ok {
			counter.Notes = append(counter.Notes, why)
		}
		out = append(out, counter)
	}
	return out
}

// siblings are such columns of a table that has other counters.
func siblings(t Table, found *finding) []Counter {
	out := byName(t, found)
	for i := range out {
		out[i].Off = "guessed from its name: no statement that was seen writes it"
	}
	return out
}
