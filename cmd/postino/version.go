package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

// VersionCmd is `postino version`.
type VersionCmd struct{}

// Run prints the version, the commit it was built of and the Go version.
func (VersionCmd) Run(app *App) error {
	app.sayf("%s", versionLine())
	return nil
}

func versionLine() string {
	return fmt.Sprintf("postino %s (%s, %s/%s)", currentVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func currentVersion() string { return versionText(debug.ReadBuildInfo()) }

// versionText prefers what the linker was told, then the module's version, then
// the commit.
func versionText(info *debug.BuildInfo, ok bool) string {
	if version != "" {
		return version
	}
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if revision == "" {
		return "unreleased"
	}
	return "unreleased " + revision + dirty
}
