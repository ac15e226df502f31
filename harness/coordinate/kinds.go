package coordinate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// The kinds of units.
const (
	KindRun   = "run"   // body: runUnit; result: the run's results folder with outcomeFile in it, packed by pack
	KindPiece = "piece" // body: pieceUnit; result: explore.PieceResult
	KindShare = "share" // body: shareUnit; result: none. What clients record is sent by generators.Post
)

// runUnit is one repetition of one run of a suite.
type runUnit struct {
	Run  string `json:"run"`  // the run as suite.Entry.Encode writes it, with the seed of this repetition
	Turn int    `json:"turn"` // number of the repetition, so that equal repetitions are different units
}

// outcomeFile is the file in a packed results folder that holds the suite.RemoteResult.
const outcomeFile = "made.json"

// pieceUnit is a piece of a search.
type pieceUnit struct {
	Search plan.Search   `json:"search"`
	Piece  explore.Piece `json:"piece"`
}

// shareUnit is a share of a run's clients. The run's coordinator tells the generator which clients these are.
type shareUnit struct {
	Run    string `json:"run"` // unique id of the run
	Number int    `json:"number"`
}

// newUnit makes a unit with body encoded as JSON. It returns an error if the JSON is too large for the queue.
func newUnit(kind, program, server string, body any) (workqueue.Unit, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return workqueue.Unit{}, fmt.Errorf("coordinate: %w", err)
	}
	if len(b) > workqueue.MostBytes {
		return workqueue.Unit{}, fmt.Errorf("coordinate: a unit of %d bytes is too large: at most %d are allowed",
			len(b), workqueue.MostBytes)
	}
	return workqueue.Unit{Kind: kind, Program: program, Server: server, Body: b}, nil
}

// decode reads one JSON value. The parameter into points to the variable that gets the value. Unknown fields, and
// anything after the value, are errors.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("coordinate: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("coordinate: the text has more than one JSON value")
	}
	return nil
}
