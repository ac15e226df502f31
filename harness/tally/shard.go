package tally

import (
	"fmt"
	"time"
)

// Shard names one of the parts into which a suite was split, each for a machine of its own.
type Shard struct {
	Number int `json:"number"` // from 1 to Of
	Of     int `json:"of"`
}

// String returns the shard as --shard takes it, such as "3/8".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// ShardResult sums up one shard of a suite that was put together from shards.
type ShardResult struct {
	Shard
	Folder  string        `json:"folder"` // of its own results, in the suite's folder
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed"`
	Runs    int           `json:"runs"`              // that ended
	Ended   string        `json:"ended,omitempty"`   // reason for an early end; empty: it ran to its end
	Resumed int           `json:"resumed,omitempty"` // as in Suite
	RSS     int64         `json:"rss"`               // most memory that its process took, bytes
}
