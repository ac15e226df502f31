package docker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

const (
	imageServer = "/usr/local/bin/redis-server" // path of redis-server in the image
	// digestLabel is the label of an image that holds the image's digest. It must differ from the labels of our
	// containers, because a container inherits the labels of its image.
	digestLabel = "doublegrant.image"

	importWithin = 2 * time.Minute // time limit of an import, which usually takes a second
)

// BuildImage makes LocalImage from the redis-server binary that cluster.FindRedis chooses, and the binary's shared
// libraries. It uses no registry. If an image of the same files is there already, it is left as it is. BuildImage
// returns the version of Redis.
func BuildImage(ctx context.Context, binary string) (version string, err error) {
	binary, version, err = findServer(binary)
	if err != nil {
		return "", err
	}
	d, err := findDaemon(ctx, Platform{}.bounds())
	if err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	files := newImageFiles()
	files.addProgram(ctx, imageServer, binary)
	_, err = d.importImage(ctx, LocalImage, files, []string{
		"ENV PATH=" + path.Dir(imageServer), "ENV " + versionEnv + "=" + version,
		`ENTRYPOINT ["redis-server"]`,
	})
	return version, err
}

// findServer returns the path and the version of the redis-server binary that cluster.FindRedis chooses.
func findServer(named string) (binary, version string, err error) {
	binary, line, err := cluster.FindRedis(named)
	if err != nil {
		return "", "", fmt.Errorf("cluster: %w", err)
	}
	return binary, cluster.VersionNumber(line), nil
}

// importImage makes the image called name from files and from lines of a Dockerfile. It does nothing if an identical
// image has that name. If an older image thereby loses its only name, importImage removes that image, unless a
// container uses it. The parameter size is the size of the files in bytes.
func (d *daemon) importImage(
	ctx context.Context, name string, files *imageFiles, lines []string,
) (size int, err error) {
	root, err := files.tar()
	if err != nil {
		return 0, fmt.Errorf("cluster: gather the files of an image: %w", err)
	}
	digest := digestOf(root, lines)
	old, err := d.inspectImage(ctx, name)
	if err == nil && old.Config != nil && old.Config.Labels[digestLabel] == digest {
		return len(root), nil
	}
	_, err = ask(ctx, max(importWithin, d.change), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, d.importTar(ctx, name, root, append(lines, "LABEL "+digestLabel+"="+digest))
	})
	if err != nil {
		return 0, fmt.Errorf("cluster: docker: import %s: %w", name, err)
	}
	if d.isNameless(ctx, old.ID) {
		_, _ = ask(ctx, d.query, func(ctx context.Context) (client.ImageRemoveResult, error) {
			return d.api.ImageRemove(ctx, old.ID, client.ImageRemoveOptions{PruneChildren: true})
		})
	}
	return len(root), nil
}

// isNameless reports whether an image exists and has no name.
func (d *daemon) isNameless(ctx context.Context, id string) bool {
	if id == "" {
		return false
	}
	image, err := d.inspectImage(ctx, id)
	return err == nil && len(image.RepoTags) == 0
}

func (d *daemon) importTar(ctx context.Context, name string, root []byte, lines []string) error {
	source := client.ImageImportSource{Source: bytes.NewReader(root), SourceName: "-"}
	answer, err := d.api.ImageImport(ctx, source, name, client.ImageImportOptions{Changes: lines})
	if err != nil {
		return err
	}
	defer answer.Close()
	said, err := io.ReadAll(answer)
	if err == nil && bytes.Contains(said, []byte(`"error"`)) {
		err = errors.New(strings.TrimSpace(string(said)))
	}
	return err
}

// digestOf returns a digest of everything that determines an image.
func digestOf(root []byte, lines []string) string {
	h := sha256.New()
	_, _ = h.Write(root)
	_, _ = io.WriteString(h, strings.Join(lines, "\n"))
	return fmt.Sprintf("%x", h.Sum(nil))
}
