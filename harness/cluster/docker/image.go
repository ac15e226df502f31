package docker

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

const (
	officialImage = "redis:7"
	// LocalImage is the image that BuildImage makes. It is used if no image is named and the official image is not on this
	// machine.
	LocalImage = "doublegrant/redis:local"

	imageEnv   = "DOUBLEGRANT_REDIS_IMAGE" // environment variable that names the image to run
	versionEnv = "REDIS_VERSION"           // variable with the version of Redis in the official images, and in ours

	pullWithin = 3 * time.Minute
)

// chooseImage returns the image to run: the one that the caller names, else $DOUBLEGRANT_REDIS_IMAGE, else the official
// image. In place of the official image it returns LocalImage if only LocalImage is on this machine. It fetches
// nothing. The second result is false if the image has to be fetched.
func (d *daemon) chooseImage(ctx context.Context, named string) (image string, here bool, err error) {
	named = cmp.Or(named, os.Getenv(imageEnv))
	for _, image := range []string{cmp.Or(named, officialImage), LocalImage} {
		here, err := d.hasUsableImage(ctx, image)
		if here || err != nil || named != "" {
			return image, here, err
		}
	}
	return officialImage, false, nil
}

// hasUsableImage reports whether an image is on this machine. The error wraps ErrNoDocker if its Redis is too old, or
// if the daemon does not answer.
func (d *daemon) hasUsableImage(ctx context.Context, image string) (bool, error) {
	res, err := d.inspectImage(ctx, image)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, imageError{fmt.Errorf("look for the image %s: %w", image, err)}
	}
	if res.Config == nil {
		return true, nil
	}
	for _, e := range res.Config.Env {
		version, ok := strings.CutPrefix(e, versionEnv+"=")
		if ok && cluster.MajorVersion(version) < cluster.OldestRedis {
			return false, imageError{fmt.Errorf("the image %s has Redis %s, older than %d.0: name another (%s), or make "+
				"one: doublegrant doctor --build-image", image, version, cluster.OldestRedis, imageEnv)}
		}
	}
	return true, nil
}

// inspectImage asks the daemon about an image, by name or id.
func (d *daemon) inspectImage(ctx context.Context, image string) (client.ImageInspectResult, error) {
	return ask(ctx, d.query, func(ctx context.Context) (client.ImageInspectResult, error) {
		return d.api.ImageInspect(ctx, image)
	})
}

// findImage does what chooseImage does, and fetches the image if it is not on this machine.
func (d *daemon) findImage(ctx context.Context, named string) (string, error) {
	image, here, err := d.chooseImage(ctx, named)
	if err != nil || here {
		return image, err
	}
	_, err = ask(ctx, pullWithin, func(ctx context.Context) (struct{}, error) {
		pulling, err := d.api.ImagePull(ctx, image, client.ImagePullOptions{})
		if err == nil {
			err = pulling.Wait(ctx)
		}
		return struct{}{}, err
	})
	if err != nil {
		return "", imageError{fmt.Errorf("the image %s is not on this machine, and cannot be fetched (%w): make one of "+
			"this machine's redis-server, %s: doublegrant doctor --build-image", image, err, LocalImage)}
	}
	if _, err = d.hasUsableImage(ctx, image); err != nil { // an old one
		return "", err
	}
	return image, nil
}
