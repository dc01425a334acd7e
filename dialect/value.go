package dialect

import "fmt"

// String returns a value of a catalog query as a string, whichever type the parent driver
// gives it; "" for NULL.
func String(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}
