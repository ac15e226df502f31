package coordinate

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Bounds of a results folder that comes from a worker.
const (
	MostUnpacked = 4 << 30 // largest size of all files together, in bytes
	mostFiles    = 20_000
	longestName  = 400
)

// pack returns the files and folders of dir as a compressed tar. It returns an error if the tar would have more than
// limit bytes. It leaves out links and devices, which a run does not write.
func pack(dir string, limit int) ([]byte, error) {
	out := limitedBuffer{limit: limit}
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed) // histories are compressed already
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zip)
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return packOne(w, path, filepath.ToSlash(rel), e.IsDir())
	})
	if err == nil {
		err = errors.Join(w.Close(), zip.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("coordinate: pack a results folder: %w", err)
	}
	return out.text.Bytes(), nil
}

// limitedBuffer is a buffer of at most limit bytes. A write beyond the limit fails, so that a result that is too large
// does not fill the memory.
type limitedBuffer struct {
	text  bytes.Buffer
	limit int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("it has more than %d bytes even when compressed", b.limit)
	}
	return b.text.Write(p)
}

func packOne(w *tar.Writer, path, name string, folder bool) error {
	if folder {
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	h := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: info.Size()}
	if err := w.WriteHeader(&h); err != nil {
		return err
	}
	_, err = io.CopyN(w, file, info.Size())
	return err
}

// unpack makes the folder dir, and writes into it what pack returned. It does not trust the worker that sent it. Names
// must stay inside dir, links are rejected, and no file may appear twice. The numbers of files and bytes and the length
// of names are bounded.
func unpack(packed []byte, dir string) error {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("coordinate: not a results folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return coordinatorError(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return coordinatorError(err)
	}
	defer root.Close()
	r, left := tar.NewReader(zip), int64(MostUnpacked)
	for n := 0; ; n++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && n == mostFiles {
			err = fmt.Errorf("it has more than %d files", mostFiles)
		}
		if err == nil {
			left -= h.Size
			err = unpackOne(root, r, h, left)
		}
		if isOfThisMachine(err) {
			return coordinatorError(err)
		}
		if err != nil {
			return fmt.Errorf("coordinate: a results folder cannot be unpacked: %w", err)
		}
	}
}

// isOfThisMachine reports whether err is a failure of this machine, such as a full disk. Errors about invalid or
// repeated names are the worker's failures, since the worker has packed these names.
func isOfThisMachine(err error) bool {
	number, ok := errors.AsType[syscall.Errno](err)
	return ok && !slices.Contains([]syscall.Errno{syscall.EEXIST, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG,
		syscall.EINVAL, syscall.ENOENT}, number)
}

// unpackOne writes the folder or file of header h. The parameter left says how many bytes may still be unpacked after
// this file. If it is negative, the file is too large.
func unpackOne(root *os.Root, r io.Reader, h *tar.Header, left int64) error {
	name := filepath.FromSlash(strings.TrimSuffix(h.Name, "/"))
	switch {
	case len(name) > longestName || !filepath.IsLocal(name) || strings.ContainsAny(name, "\\\x00\n"):
		return fmt.Errorf("%.60q cannot be the name of a file in a results folder", h.Name)
	case h.Size < 0 || left < 0:
		return fmt.Errorf("it has more than %d bytes", int64(MostUnpacked))
	case h.Typeflag == tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case h.Typeflag != tar.TypeReg:
		return fmt.Errorf("%.60q is neither a file nor a folder", h.Name)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.CopyN(file, r, h.Size)
	return errors.Join(err, file.Close())
}
