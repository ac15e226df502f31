package history

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

const (
	magic      = "doublegrant history 1\n"
	headerSize = 12       // size of a frame's header: length of the block, CRC-32C of the block, CRC-32C of both
	maxRaw     = 64 << 20 // largest size of a frame before compression, in bytes; a frame that claims more is damaged
	maxBlock   = maxRaw + maxRaw/128 + 1024
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errTorn says that a file ends inside a frame, because its writer died.
var errTorn = errors.New("the file ends inside a frame")

// compressor makes frames.
type compressor struct {
	zstd *zstd.Encoder
	buf  []byte
}

func newCompressor(level zstd.EncoderLevel) (*compressor, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(512<<10), zstd.WithEncoderLevel(level))
	return &compressor{zstd: enc}, err
}

// frame compresses raw into a frame, which is valid until the next call.
func (c *compressor) frame(raw []byte) ([]byte, error) {
	if len(raw) > maxRaw {
		return nil, fmt.Errorf("history: %d bytes at once: want at most %d", len(raw), maxRaw)
	}
	c.buf = c.zstd.EncodeAll(raw, append(c.buf[:0], make([]byte, headerSize)...))
	block := c.buf[headerSize:]
	binary.LittleEndian.PutUint32(c.buf, uint32(len(block)))
	binary.LittleEndian.PutUint32(c.buf[4:], crc32.Checksum(block, castagnoli))
	binary.LittleEndian.PutUint32(c.buf[8:], crc32.Checksum(c.buf[:8], castagnoli))
	return c.buf, nil
}

// frames reads the frames of one file.
type frames struct {
	name   string
	r      *bufio.Reader
	zstd   *zstd.Decoder
	size   int64 // size of the file when it was opened, in bytes
	offset int64 // position of the frame that is being read
	next   int64 // position of the next frame
	block  []byte
	raw    []byte
}

func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRaw))
}

// readFrames reads a file of the given size from its beginning. The error is errTorn if the file ends within the magic.
func readFrames(name string, r io.Reader, size int64, dec *zstd.Decoder) (*frames, error) {
	f := &frames{name: name, r: bufio.NewReaderSize(r, 256<<10), zstd: dec, size: size, next: int64(len(magic))}
	head := make([]byte, len(magic))
	n, err := io.ReadFull(f.r, head)
	switch {
	case cutShort(err) && magic[:n] == string(head[:n]):
		return f, errTorn
	case err != nil && !cutShort(err):
		return f, fmt.Errorf("history: %w", err)
	case string(head) != magic:
		return f, f.damage("it does not begin like a history")
	}
	return f, nil
}

// damage returns an error that names the file and the position of the frame.
func (f *frames) damage(what string, args ...any) error {
	return fmt.Errorf("history: %s is damaged at byte %d: %s", f.name, f.offset, fmt.Sprintf(what, args...))
}

// read returns the content of the next frame, which is valid until the next call. The error is io.EOF after the last
// frame, and errTorn if the file ends inside a frame. Any other error says that the file is damaged or cannot be read.
func (f *frames) read() ([]byte, error) {
	if err := f.readBlock(); err != nil {
		return nil, err
	}
	var err error
	if f.raw, err = f.zstd.DecodeAll(f.block, f.raw[:0]); err != nil {
		return nil, f.damage("%v", err)
	}
	return f.raw, nil
}

// readBlock reads the next frame and checks it, without unpacking it.
func (f *frames) readBlock() error {
	f.offset = f.next
	var head [headerSize]byte
	n, err := io.ReadFull(f.r, head[:])
	if err != nil {
		return readEnded(err, n)
	}
	length := int64(binary.LittleEndian.Uint32(head[:]))
	switch {
	case crc32.Checksum(head[:8], castagnoli) != binary.LittleEndian.Uint32(head[8:]):
		return f.damage("the header of a frame was changed")
	case length > maxBlock:
		return f.damage("a frame claims %d bytes", length)
	case f.offset+headerSize+length > f.size:
		return errTorn
	}
	f.block = grow(f.block, int(length))
	if n, err := io.ReadFull(f.r, f.block); err != nil {
		return readEnded(err, n+headerSize)
	}
	if crc32.Checksum(f.block, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return f.damage("a frame was changed")
	}
	f.next = f.offset + headerSize + length
	return nil
}

// readEnded translates the error of a read that got only n bytes of a frame. If the file ends there, it returns io.EOF
// for n = 0 and errTorn for a larger n.
func readEnded(err error, n int) error {
	switch {
	case errors.Is(err, io.EOF) && n == 0:
		return io.EOF
	case cutShort(err):
		return errTorn
	}
	return fmt.Errorf("history: %w", err)
}

func cutShort(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// openFrames opens the file at path. The caller closes the file unless it is nil, even after an error.
func openFrames(path string, dec *zstd.Decoder) (*os.File, *frames, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("history: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return file, nil, fmt.Errorf("history: %w", err)
	}
	f, err := readFrames(path, file, info.Size(), dec)
	return file, f, err
}
