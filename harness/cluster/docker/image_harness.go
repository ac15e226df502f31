package docker

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// HarnessImage is the default name of the image that BuildHarnessImage makes of this program.
const HarnessImage = "doublegrant/harness:local"

const (
	imageProgram  = "/usr/local/bin/doublegrant"
	imageSentinel = "/usr/local/bin/redis-sentinel"
	imageClocks   = "/usr/local/lib/doublegrant/clock.so"
	imageResults  = "/results" // where commands write by default, since their working folder is /

	// imageUser is the user and group as which the image runs by default. The image also runs as any other user, since no
	// file in it belongs to imageUser.
	imageUser = "10001:10001"

	insideEnv = "DOUBLEGRANT_IMAGE" // environment variable that is set in the image to the image's name
)

// Harness says what an image of this program is made of. The zero value is a usable default.
type Harness struct {
	Name        string // name of the image; default HarnessImage
	Program     string // binary of doublegrant, with its shared libraries if it has any; default: this process's own
	RedisServer string // binary of redis-server; default: the one that cluster.FindRedis chooses
	Version     string // version of the program, for the image's label; may be empty
}

// BuiltImage describes an image that was made.
type BuiltImage struct {
	Name   string
	Redis  string // version of Redis
	Size   int    // size of the image's files, in bytes
	Clocks bool   // nodes' clocks can be set in the image, since this machine has a C compiler
}

// BuildHarnessImage makes an image of this program and of a redis-server of this machine, with the shared libraries
// that they need and nothing else: no shell, no compiler, no other language. Nodes' clocks can be set in it if this
// machine has a compiler. It uses no registry. If an identical image is there already, it is left as it is. Any Docker
// will do, even one whose containers cannot be nodes.
func BuildHarnessImage(ctx context.Context, h Harness) (BuiltImage, error) {
	if h.Program == "" {
		own, err := os.Executable()
		if err != nil {
			return BuiltImage{}, err
		}
		h.Program = own
	}
	binary, version, err := findServer(h.RedisServer)
	if err != nil {
		return BuiltImage{}, err
	}
	d, _, err := anyDaemon(ctx, Platform{}.bounds())
	if err != nil {
		return BuiltImage{}, fmt.Errorf("cluster: %w", err)
	}
	clocks, err := cluster.CompileClocks(ctx)
	if err != nil && !errors.Is(err, cluster.ErrNoCompiler) {
		return BuiltImage{}, err
	}
	made := BuiltImage{Name: cmp.Or(h.Name, HarnessImage), Redis: version, Clocks: err == nil}
	made.Size, err = d.importImage(ctx, made.Name, h.files(ctx, binary, clocks), h.lines(made))
	return made, err
}

// files gathers the files of the image. The parameter redis is the path of redis-server. The parameter clocks is the
// clock library, or nil for an image without one.
func (h Harness) files(ctx context.Context, redis string, clocks []byte) *imageFiles {
	files := newImageFiles()
	files.addFolder("/tmp/")
	files.addFolder(imageResults + "/")
	files.addProgram(ctx, imageProgram, h.Program)
	files.addProgram(ctx, imageServer, redis)
	files.addLink(imageSentinel, path.Base(imageServer)) // under this name Redis runs as a Sentinel
	if clocks != nil {
		files.add(tar.Header{Name: imageClocks, Mode: 0o755, Typeflag: tar.TypeReg}, clocks)
	}
	return files
}

// lines returns what the image has besides files, as lines of a Dockerfile: environment, labels, user, working folder
// and entry point. HOME is /tmp, which any user can write to.
func (h Harness) lines(made BuiltImage) []string {
	return []string{
		"ENV PATH=" + path.Dir(imageProgram), "ENV HOME=/tmp", "ENV TMPDIR=/tmp",
		"ENV " + cluster.ClockLibraryEnv + "=" + imageClocks,
		"ENV " + insideEnv + "=" + made.Name, "ENV " + versionEnv + "=" + made.Redis,
		"LABEL org.opencontainers.image.title=doublegrant",
		fmt.Sprintf("LABEL org.opencontainers.image.version=%q", cmp.Or(h.Version, "unknown")),
		"USER " + imageUser, "WORKDIR /",
		fmt.Sprintf("ENTRYPOINT [%q]", path.Base(imageProgram)),
	}
}

// CurrentImage returns the name of the image in which this program runs, and the version of Redis there. Both are empty
// outside of an image of BuildHarnessImage.
func CurrentImage() (image, redis string) {
	if image = os.Getenv(insideEnv); image == "" {
		return "", ""
	}
	return image, os.Getenv(versionEnv)
}
