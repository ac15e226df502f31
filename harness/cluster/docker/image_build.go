package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/moby/client"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

const (
	imageServer = "/usr/local/bin/redis-server" // in the image
	digestLabel = "doublegrant.image"           // label with the digest of the image's files; containers inherit it, so it is not label
)

// BuildImage makes LocalImage from a redis-server binary of this machine, chosen as by cluster.FindRedis, and its shared
// libraries. It asks no registry, and keeps an image that has the same files already. It returns the version of Redis in it.
func BuildImage(ctx context.Context, binary string) (version string, err error) {
	binary, line, err := cluster.FindRedis(binary)
	if err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	_, number, _ := strings.Cut(line, " v=")
	version, _, _ = strings.Cut(number, " ")
	d, err := findDaemon(ctx, Platform{}.bounds())
	if err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	root, err := imageFiles(ctx, binary)
	if err != nil {
		return "", fmt.Errorf("cluster: gather the files of an image: %w", err)
	}
	return version, d.importImage(ctx, root, version)
}

// importImage makes LocalImage from a tar of its files. It removes the image that had this name before, if that is not in use.
func (d *daemon) importImage(ctx context.Context, root []byte, version string) error {
	digest := fmt.Sprintf("%x", sha256.Sum256(root))
	old, err := ask(ctx, d.look, func(ctx context.Context) (client.ImageInspectResult, error) {
		return d.api.ImageInspect(ctx, LocalImage)
	})
	if err == nil && old.Config != nil && old.Config.Labels[digestLabel] == digest {
		return nil
	}
	changes := []string{
		"ENV PATH=" + path.Dir(imageServer), "ENV " + versionEnv + "=" + version,
		"LABEL " + digestLabel + "=" + digest,
		`ENTRYPOINT ["redis-server"]`,
	}
	err = d.callWithin(ctx, "import "+LocalImage, func(ctx context.Context) error {
		source := client.ImageImportSource{Source: bytes.NewReader(root), SourceName: "-"}
		answer, err := d.api.ImageImport(ctx, source, LocalImage, client.ImageImportOptions{Changes: changes})
		if err != nil {
			return err
		}
		defer answer.Close()
		said, err := io.ReadAll(answer)
		if err == nil && bytes.Contains(said, []byte(`"error"`)) {
			err = errors.New(strings.TrimSpace(string(said)))
		}
		return err
	})
	if err == nil && old.ID != "" {
		_, _ = ask(ctx, d.look, func(ctx context.Context) (client.ImageRemoveResult, error) {
			return d.api.ImageRemove(ctx, old.ID, client.ImageRemoveOptions{PruneChildren: true})
		})
	}
	return err
}

// imageFiles returns a tar of the binary and its libraries. The same files give the same tar.
func imageFiles(ctx context.Context, binary string) ([]byte, error) {
	files, err := sharedLibraries(ctx, binary)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := addFile(w, imageServer, binary); err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := addFile(w, file, file); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

// addFile adds a file to the tar. For a link it adds the file that it leads to.
func addFile(w *tar.Writer, name, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	h := &tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: int64(len(b)), Typeflag: tar.TypeReg}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// sharedLibraries returns the paths of a binary's shared libraries, as the loader finds them, and that of the loader itself. A static
// binary has none.
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
		for _, word := range strings.Fields(line) {
			if filepath.IsAbs(word) && word != binary {
				files = append(files, word)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}
