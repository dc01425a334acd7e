package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// placements are the default, and one whose increments always take slots.
var placements = []string{"adaptive", "connection"}

// compare runs a suite plainly and through slotsql. A difference without a reason, a reason without a difference, and
// counts of nothing are errors; the row is nil if the suite has not run.
func (p place) compare(ctx context.Context, s *suite) (*row, error) {
	b, err := p.build(ctx, s)
	if err != nil {
		return nil, err
	}
	plain, _, err := b.runTests(ctx, "")
	if err != nil {
		return nil, err
	}
	version, err := p.version(ctx, s.engine)
	if err != nil {
		return nil, err
	}
	r := &row{suite: s.name + " " + s.source.version, server: version}
	for _, o := range plain {
		if o == "pass" {
			r.passed++
		}
	}
	var failed []error
	seen := map[string]bool{} // reasons
	for _, placement := range placements {
		wrapped, counts, err := b.runTests(ctx, placement)
		if err != nil {
			return nil, fmt.Errorf("placement %s: %w", placement, err)
		}
		differ, err := b.recurring(ctx, placement, plain, wrapped)
		if err != nil {
			return nil, fmt.Errorf("placement %s: %w", placement, err)
		}
		for _, test := range differ {
			reason := s.reason(test)
			if reason == "" {
				failed = append(failed, fmt.Errorf("placement %s: %s: plain %s, wrapped %s", placement, test, told(plain[test]), told(wrapped[test])))
			}
			seen[reason] = true
		}
		r.differ, r.counts = append(r.differ, len(differ)), append(r.counts, counts)
	}
	for _, d := range s.differs {
		if !seen[d.reason] {
			failed = append(failed, fmt.Errorf("no test differs any more for the reason: %s", d.reason))
		}
	}
	if last := r.counts[len(r.counts)-1]; last.Connectors == 0 || (last.Observed+last.Rewritten == 0) != (s.uncounted != "") {
		failed = append(failed, fmt.Errorf("counted: %+v", last))
	}
	return r, errors.Join(failed...)
}

// repeats is how often tests that differ run again.
const repeats = 3

// recurring returns the tests that differ each time that they run, plainly and through slotsql. Those of some suites also
// depend on the time, and on how busy the machine is; what does not come again is logged.
func (b *built) recurring(ctx context.Context, placement string, plain, wrapped outcomes) ([]string, error) {
	differ := differences(plain, wrapped)
	for range repeats {
		top := map[string]bool{}
		for _, test := range differ {
			name, _, _ := strings.Cut(test, "/")
			top["^"+regexp.QuoteMeta(name)+"$"] = true
		}
		if len(top) == 0 {
			return nil, nil
		}
		some := slices.Sorted(maps.Keys(top))
		plainAgain, _, err := b.runTests(ctx, "", some...)
		if err != nil {
			return nil, err
		}
		wrappedAgain, _, err := b.runTests(ctx, placement, some...)
		if err != nil {
			return nil, err
		}
		differ = slices.DeleteFunc(differ, func(test string) bool {
			if wrappedAgain[test] != plainAgain[test] {
				return false
			}
			log.Printf("%s, placement %s: %s: not again: plain %s, wrapped %s", b.name, placement, test, told(plain[test]), told(wrapped[test]))
			return true
		})
	}
	return differ, nil
}

// differences are the tests that have come to something else, in their order.
func differences(plain, wrapped outcomes) []string {
	all := maps.Clone(plain)
	maps.Copy(all, wrapped)
	maps.DeleteFunc(all, func(test, _ string) bool { return plain[test] == wrapped[test] })
	return slices.Sorted(maps.Keys(all))
}

func told(outcome string) string { return cmp.Or(outcome, "not run") }

func (s *suite) reason(test string) string {
	for _, d := range s.differs {
		if d.tests.MatchString(test) {
			return d.reason
		}
	}
	return ""
}
