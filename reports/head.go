package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Schema is the version of every JSON document. It stays 1 until the first release, and the changelog lists changed
// fields. From then on it changes when a field changes its meaning or is removed.
const Schema = 1

// ErrSchema marks a document of another version or kind.
var ErrSchema = errors.New("unknown schema")

// Head is the beginning of every JSON document that doublegrant prints or writes. The folder schemas, beside this file,
// has a JSON Schema for each kind. Names of fields are in camelCase. Times and lengths of time are integers in
// nanoseconds, except in fields that hold a date.
type Head struct {
	Schema int  `json:"schema"` // version of the document's fields, counted from 1
	Kind   Kind `json:"kind"`   // what the document describes
}

// Kind says what a JSON document describes.
type Kind string

// Kinds of documents. The command line has more kinds of its own, such as "catalogue".
const (
	KindRun          Kind = "run"
	KindExploration  Kind = "exploration"
	KindComparison   Kind = "comparison"
	KindSuite        Kind = "suite"
	KindReproduction Kind = "reproduction"
)

// HeadOf returns the head of a new document of kind k, with the current version of the schemas.
func HeadOf(k Kind) Head { return Head{Schema, k} }

// DocumentKind returns the document's kind. Every document has this method, since it embeds a Head.
func (h Head) DocumentKind() Kind { return h.Kind }

// check refuses a document that does not have the current version and the wanted kind.
func (h Head) check(want Kind) error {
	if h.Schema > Schema {
		return fmt.Errorf("reports: read json: %w %d: a newer doublegrant wrote it, and this one reads %d: use the newer one",
			ErrSchema, h.Schema, Schema)
	}
	if h.Schema != Schema || h.Kind != want {
		return fmt.Errorf("reports: read json: %w %d of kind %q, want %d of kind %q", ErrSchema, h.Schema, h.Kind, Schema,
			want)
	}
	return nil
}

// WriteJSON writes a document, indented by two spaces.
func WriteJSON(w io.Writer, document any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		return fmt.Errorf("reports: write json: %w", err)
	}
	return nil
}
