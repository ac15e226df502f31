// Package history stores a run on disk while it goes on, and reads it back as a stream. It also reads and writes the
// text form of a history, which any program can produce.
//
// A stored history is a folder. run.seg has the description of the run, its events, faults and end. ops-000001.seg,
// ops-000002.seg and so on have its operations in order of Return. Files only grow. Each is a line of magic followed by
// frames, and each frame can be checked and read without the others: see README.md for the bytes.
//
// Frames are written with write(2) and without fsync. What write accepted is with the kernel, and survives the death of
// the harness, even by kill -9. Only a power loss of the machine loses it, and that ends a test of Redis anyway. An
// fsync for each frame would compete for the disk with the append-only files of the Redis nodes under test.
package history
