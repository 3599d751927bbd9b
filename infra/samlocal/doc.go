// Package samlocal tests the built functions in containers, as `sam local` runs
// them: behind Lambda's own runtime emulator, with nothing of this host but a
// network. Each has the environment of its deployed self, so what it does reaches
// the stack that infra/local/sam.sh has put onto the emulator.
//
//	make sam-local
package samlocal
