package coordinate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/suite/tally"
	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// The kinds of units.
const (
	KindRun   = "suite-run" // body: runUnit; result: the results folder of the shard, see pack
	KindPiece = "piece"     // body: pieceUnit; result: explore.PieceResult
)

// runUnit is one repetition of one run of a suite.
type runUnit struct {
	Suite string      `json:"suite"` // as suite.Encode writes it
	Shard tally.Shard `json:"shard"` // of as many as the suite has repetitions
}

// pieceUnit is a piece of a search.
type pieceUnit struct {
	Search plan.Search   `json:"search"`
	Piece  explore.Piece `json:"piece"`
}

// newUnit makes a unit of a body that is JSON.
func newUnit(kind, program, server string, body any) (workqueue.Unit, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return workqueue.Unit{}, fmt.Errorf("coordinate: %w", err)
	}
	if len(b) > workqueue.MostBytes {
		return workqueue.Unit{}, fmt.Errorf("coordinate: a unit of %d bytes, and %d are the most", len(b), workqueue.MostBytes)
	}
	return workqueue.Unit{Kind: kind, Program: program, Server: server, Body: b}, nil
}

// decode reads JSON that has known fields only, and nothing behind it.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("coordinate: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("coordinate: there is more than one value")
	}
	return nil
}
