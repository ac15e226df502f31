package tally

import (
	"fmt"
	"time"
)

// Shard names one of the parts of a suite that is split over several machines.
type Shard struct {
	Number int `json:"number"` // number of the shard, from 1 to Of
	Of     int `json:"of"`
}

// String returns the shard in the form that --shard takes, such as "3/8".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// ShardResult sums up one shard of a merged suite.
type ShardResult struct {
	Shard
	Folder  string        `json:"folder"` // folder of the shard's results, within the suite's folder
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed"`
	Runs    int           `json:"runs"`              // runs that ended
	Ended   string        `json:"ended,omitempty"`   // reason for an early end; empty: the shard ran to its end
	Resumed int           `json:"resumed,omitempty"` // how often another process resumed the shard
	RSS     int64         `json:"rss"`               // largest resident memory of the shard's process, in bytes
}
