// Package adapters has the adapters with which programs in other languages are tested. README.md describes their
// protocol.
package adapters

import "embed"

// Files has the adapters, each in the folder of its language.
//
//go:embed go/*.go python/*.py javascript/*.js php/*.php ruby/*.rb perl/*.pl java/*.java c/*.c
var Files embed.FS
