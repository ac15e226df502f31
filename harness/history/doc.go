// Package history keeps a run on disk while it goes on, and reads it back as a stream. It reads and writes the text form
// of a history as well, which any program can make.
//
// A stored history is a folder: run.seg with what the run is, its events, faults and end, and ops-000001.seg,
// ops-000002.seg and so on with its operations in order of Return. Files only grow. Each is a line of magic followed by
// frames, and each frame can be checked and read without the others: see README.md for the bytes.
//
// Frames are written with write(2) and not forced to the disk. What write took survives the death of the harness, kill -9
// included, because the kernel has it. Only a machine that loses its power loses it, and a test of Redis ends then anyway;
// an fsync for each frame would compete with the append-only files of the Redis nodes under test for the same disk.
package history
