// Package permissions compares what the functions' roles allow with what the
// functions do. The emulator enforces the policies and records each call
// (infra/local/emulator.py); the test of this package, which runs after all others
// on a deployed stack, reads that record and the policies as they were deployed:
//
//   - a call that no statement allows is a permission that the template lacks;
//   - an allowed action on a resource that no call used is one too many, unless
//     the list of exceptions says when it is used.
//
// Conditions of statements are left to the emulator, which evaluates them.
package permissions
