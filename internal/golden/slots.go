package golden

import (
	"regexp"
	"strings"
)

var (
	defaults = regexp.MustCompile(`(?m)^defaults:[ \t]*(\{)?`)
	slots    = regexp.MustCompile(`(?m)^defaults:[ \t]*(?:\{[^}]*|(?:\n[ \t]+.*)*?\n[ \t]+)\bslots:`)
)

// WithSlots returns a configuration with slots: 64 among its defaults, unless they say how
// many there are: engines with one writer have none by themselves, and the tests of what
// slots do are for all engines. The lines above keep their numbers.
func WithSlots(text string) string {
	at := defaults.FindStringSubmatchIndex(text)
	switch {
	case !strings.Contains(text, "version:") || slots.MatchString(text):
		return text
	case at == nil:
		return strings.TrimRight(text, "\n") + "\ndefaults: {slots: 64}\n"
	case at[2] >= 0:
		return text[:at[3]] + "slots: 64, " + text[at[3]:]
	}
	return text[:at[1]] + "\n  slots: 64" + text[at[1]:]
}
