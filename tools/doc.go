// Package tools pins the tools that the tests run, apart from the module, so that
// who imports slotsql has none of what they need.
package tools
