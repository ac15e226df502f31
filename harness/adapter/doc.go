// Package adapter lets programs in any language be explored. It starts one process for each client and tells it what to
// do, a line of JSON at a time, while the process talks to Redis through the gate of its client. README.md describes
// the protocol.
package adapter
