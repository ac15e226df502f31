package command

import "strings"

// Slot returns the Cluster slot of a key. If its first pair of braces is not empty, only what is inside counts. Source:
// Redis Cluster specification, "Hash tags", and its appendix on CRC-16.
func Slot(key string) int {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}

// InOneSlot reports whether all keys belong to one slot.
func InOneSlot(keys ...string) bool {
	for _, k := range keys {
		if Slot(k) != Slot(keys[0]) {
			return false
		}
	}
	return true
}
