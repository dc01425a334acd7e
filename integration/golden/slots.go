package golden

import (
	"regexp"
	"strings"
)

var (
	defaults = regexp.MustCompile(`(?m)^defaults:[ \t]*(\{)?`)
	setBy    = `(?m)^defaults:[ \t]*(?:\{[^}]*|(?:\n[ \t]+.*)*?\n[ \t]+)\b`
)

// Placement is what WithSlots adds of it.
const Placement = "placement: connection"

// WithSlots returns a configuration with slots: 64 and placement: connection among its
// defaults, unless they say something else: by themselves engines with one writer have no
// slots, and others count cold rows without, and the tests of what slots do are for all
// engines. The lines above keep their numbers.
func WithSlots(text string) string {
	if !regexp.MustCompile(setBy + "slots: 0\\b").MatchString(text) {
		text = withDefault(text, "placement", "connection")
	}
	return withDefault(text, "slots", "64")
}

func withDefault(text, key, value string) string {
	at := defaults.FindStringSubmatchIndex(text)
	switch {
	case !strings.Contains(text, "version:") || regexp.MustCompile(setBy+key+":").MatchString(text):
		return text
	case at == nil:
		return strings.TrimRight(text, "\n") + "\ndefaults: {" + key + ": " + value + "}\n"
	case at[2] >= 0:
		return text[:at[3]] + key + ": " + value + ", " + text[at[3]:]
	}
	return text[:at[1]] + "\n  " + key + ": " + value + text[at[1]:]
}
