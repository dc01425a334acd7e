package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := "(devel)"
			if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
				v = info.Main.Version
			}
			if o.json {
				return printJSON(
					cmd.OutOrStdout(),
					map[string]string{"version": v, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH},
				)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "slotsql %s %s %s/%s\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	o.output(cmd)
	return cmd
}
