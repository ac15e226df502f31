package tally

import (
	"fmt"
	"time"
)

// Shard names one of the parts of a suite that is split over several machines.
type Shard struct {
	Number int `json:"number"` // from 1 to Of
	Of     int `json:"of"`
}

// String returns the shard as --shard takes it, such as "3/8".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// ShardResult sums up one shard of a merged suite.
type ShardResult struct {
	Shard
	Folder  string        `json:"folder"` // its results, within the suite's folder
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed"`
	Runs    int           `json:"runs"`              // runs that ended
	Ended   string        `json:"ended,omitempty"`   // reason for an early end; empty: it ran to its end
	Resumed int           `json:"resumed,omitempty"` // as in Suite
	RSS     int64         `json:"rss"`               // most resident memory of its process, bytes
}
