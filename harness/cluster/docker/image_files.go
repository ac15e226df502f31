package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// imageFiles collects the files of an image as a tar. The same files give the same tar.
type imageFiles struct {
	out  bytes.Buffer
	w    *tar.Writer
	seen map[string]bool
	err  error // the first error; after it, all calls do nothing
}

func newImageFiles() *imageFiles {
	f := &imageFiles{seen: map[string]bool{}}
	f.w = tar.NewWriter(&f.out)
	return f
}

// tar returns the tar of all files that were added.
func (f *imageFiles) tar() ([]byte, error) {
	if f.err == nil {
		f.err = f.w.Close()
	}
	return f.out.Bytes(), f.err
}

// addProgram adds a binary under a name, and its shared libraries under their own names.
func (f *imageFiles) addProgram(ctx context.Context, name, binary string) {
	f.addFile(name, binary)
	libraries, err := sharedLibraries(ctx, binary)
	if err != nil && f.err == nil {
		f.err = err
	}
	for _, library := range libraries {
		f.addFile(library, library)
	}
}

// addFile adds the file at the path in the parameter source to the image, under the given name. All users may run it.
// If source is a link, addFile adds the file that the link points to.
func (f *imageFiles) addFile(name, source string) {
	b, err := os.ReadFile(source)
	if err != nil && f.err == nil {
		f.err = err
	}
	f.add(tar.Header{Name: name, Mode: 0o755, Typeflag: tar.TypeReg}, b)
}

// addFolder adds an empty folder that all users may write to, like /tmp.
func (f *imageFiles) addFolder(name string) {
	const sticky = 0o1000 // only its owner removes a file
	f.add(tar.Header{Name: name, Mode: sticky | 0o777, Typeflag: tar.TypeDir}, nil)
}

func (f *imageFiles) addLink(name, to string) {
	f.add(tar.Header{Name: name, Linkname: to, Mode: 0o777, Typeflag: tar.TypeSymlink}, nil)
}

// add adds one entry, unless there is one with its name.
func (f *imageFiles) add(h tar.Header, content []byte) {
	if f.err != nil || f.seen[h.Name] {
		return
	}
	f.seen[h.Name] = true
	h.Name, h.Size = strings.TrimPrefix(h.Name, "/"), int64(len(content))
	if f.err = f.w.WriteHeader(&h); f.err == nil {
		_, f.err = f.w.Write(content)
	}
}

// sharedLibraries returns the paths of a binary's shared libraries, as the loader finds them, and of the loader itself.
// A static binary has none of them.
func sharedLibraries(ctx context.Context, binary string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "ldd", binary).CombinedOutput()
	said := string(out)
	if strings.Contains(said, "not a dynamic executable") || strings.Contains(said, "statically linked") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w: %s", binary, err, strings.TrimSpace(said))
	}
	var files []string
	for line := range strings.Lines(said) {
		if strings.Contains(line, "not found") {
			return nil, fmt.Errorf("ldd %s: %s", binary, strings.TrimSpace(line))
		}
		for word := range strings.FieldsSeq(line) {
			if filepath.IsAbs(word) && word != binary {
				files = append(files, word)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}
