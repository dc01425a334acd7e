package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Example: "  slotsql version --json",
		Short:   "Print the version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.json {
				return printJSON(
					cmd.OutOrStdout(),
					map[string]string{"version": moduleVersion(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH},
				)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "slotsql %s\n", version())
			return err
		},
	}
	o.output(cmd)
	return cmd
}

// moduleVersion is that of the tag which the command was built from.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// version is what --version prints after the name.
func version() string {
	return fmt.Sprintf("%s %s %s/%s", moduleVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
