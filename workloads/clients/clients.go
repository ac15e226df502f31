// Package clients has the adapters by which programs in other languages are put under test. README.md has their protocol.
package clients

import "embed"

// Files has the adapters, each in the folder of its language.
//
//go:embed python/*.py javascript/*.js php/*.php ruby/*.rb
var Files embed.FS
