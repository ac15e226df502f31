// Command doublegrant tests Redis locks, message filters and number generators for double grants.
package main

import (
	"os"

	"github.com/doublegrant/doublegrant/harness/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
