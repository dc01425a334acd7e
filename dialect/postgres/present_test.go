package postgres

import "testing"

func TestPresent(t *testing.T) {
	for predicate, want := range map[string]bool{
		"(project IS NOT NULL)":                             true,
		"((kind IS NOT NULL) AND (\"Ü x\" IS NOT NULL))":    true,
		"(other IS NOT NULL)":                               false,
		"(project IS NULL)":                                 false,
		"(NOT (project IS NULL))":                           false,
		"((project IS NOT NULL) OR (kind IS NOT NULL))":     false,
		"((project IS NOT NULL) AND (kind > 1))":            false,
		"(abs(project) IS NOT NULL)":                        false,
		"(numbers.* IS NOT NULL)":                           false,
		"false":                                             false,
		"not a predicate":                                   false,
		"(project IS NOT NULL); DELETE FROM numbers":        false,
		"((project IS NOT NULL) AND (project IS NOT NULL))": true,
	} {
		if got := NotNullOnly(predicateOf(predicate), []string{"kind", "project", "Ü x"}); got != want {
			t.Errorf("%s: %v, want %v", predicate, got, want)
		}
	}
}
